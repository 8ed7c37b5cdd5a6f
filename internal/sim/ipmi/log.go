package ipmi

import (
	"encoding/binary"
	"time"

	"github.com/bougou/go-ipmi/pkg/command/storage"
	"github.com/bougou/go-ipmi/pkg/handlers"
	"github.com/bougou/go-ipmi/pkg/types"

	"go.temper.dev/temper/internal/sim/machine"
)

const (
	recordSize  = 16 // bytes of an entry of the event log
	lastRecord  = 0xffff
	wholeRecord = 0xff
	logVersion  = 0x51 // of Get SEL Info (IPMI 2.0, table 31-2)
	noTime      = 0xffffffff
)

// Bits of what the log supports (table 31-2), and of the answer to Clear SEL (table 31-9).
const (
	logOverflow = 1 << 7
	logReserves = 1 << 1
	logErased   = 1
)

// occurrence is how an entry of the log is written: the type of its sensor, and the event (table 42-3).
type occurrence struct {
	sensor types.SensorType
	event  uint8
}

var occurrences = map[machine.LogKind]occurrence{
	machine.LogPoweredOn:   {types.SensorTypeSystemACPIPowerState, 0x00},       // S0/G0 "working"
	machine.LogPoweredOff:  {types.SensorTypeSystemACPIPowerState, 0x05},       // S5/G2 "soft-off"
	machine.LogRestarted:   {types.SensorTypeSystemBootRestartInitiated, 0x01}, // by a hard reset
	machine.LogInterrupted: {types.SensorTypeCriticalInterrupt, 0x00},          // front panel NMI, diagnostic interrupt
	machine.LogLoginFailed: {types.SensorTypeSessionAudit, 0x02},               // invalid username or password
	machine.LogCleared:     {types.SensorTypeEventLoggingDisabled, 0x02},       // log area cleared
}

func registerLog(r *handlers.Registry) {
	register(r, types.CommandGetSELInfo, getLogInfo)
	register(r, types.CommandReserveSEL, func(hw *hardware, _ []byte) ([]byte, types.CompletionCode) {
		return binary.LittleEndian.AppendUint16(nil, hw.machine.Log.Reserve()), types.CodeOK
	})
	register(r, types.CommandGetSELEntry, getLogEntry)
	register(r, types.CommandClearSEL, clearLog)
}

func getLogInfo(hw *hardware, _ []byte) ([]byte, types.CompletionCode) {
	state := hw.machine.Log.State()
	out := []byte{logVersion}
	out = binary.LittleEndian.AppendUint16(out, uint16(state.Entries))         //nolint:gosec // machine limits them
	out = binary.LittleEndian.AppendUint16(out, uint16(state.Free*recordSize)) //nolint:gosec // the same
	out = binary.LittleEndian.AppendUint32(out, logTime(state.Added))
	out = binary.LittleEndian.AppendUint32(out, logTime(state.Cleared))
	support := uint8(logReserves)
	if state.Overflowed {
		support |= logOverflow
	}
	return append(out, support), types.CodeOK
}

// logTime is a time as the log has it.
func logTime(t time.Time) uint32 {
	if t.IsZero() {
		return noTime
	}
	return uint32(t.Unix()) //nolint:gosec // until 2106
}

// getLogEntry returns an entry, or a part of it, which needs a reservation.
func getLogEntry(hw *hardware, request []byte) ([]byte, types.CompletionCode) {
	if len(request) < 6 {
		return nil, types.CodeRequestDataLengthInvalid
	}
	reservation, id := binary.LittleEndian.Uint16(request), binary.LittleEndian.Uint16(request[2:])
	offset, count := int(request[4]), int(request[5])
	if offset > 0 && !hw.machine.Log.Reserved(reservation) {
		return nil, types.CodeReservationCanceled
	}
	entries := hw.machine.Log.Entries()
	at := -1
	for i, e := range entries {
		if id == uint16(e.ID) { //nolint:gosec // numbers of entries have 16 bits
			at = i
		}
	}
	switch {
	case len(entries) > 0 && id == 0:
		at = 0
	case len(entries) > 0 && id == lastRecord:
		at = len(entries) - 1
	}
	switch {
	case at < 0:
		return nil, types.CodeRequestedDataNotPresent
	case offset >= recordSize:
		return nil, types.CodeParameterOutOfRange
	}
	next := uint16(lastRecord)
	if at+1 < len(entries) {
		next = uint16(entries[at+1].ID) //nolint:gosec // the same
	}
	if count == wholeRecord {
		count = recordSize
	}
	record := recordOf(entries[at])
	return append(binary.LittleEndian.AppendUint16(nil, next), record[offset:min(offset+count, recordSize)]...), types.CodeOK
}

func recordOf(e machine.LogEntry) []byte {
	what := occurrences[e.Kind]
	sel := types.SEL{RecordID: uint16(e.ID), RecordType: 0x02, Standard: &types.SELStandard{ //nolint:gosec // numbers of entries have 16 bits
		Timestamp: e.At, GeneratorID: types.GeneratorBMC, EvMRev: 0x04, SensorType: what.sensor, SensorNumber: types.SensorNumber(what.sensor),
		EventReadingType: types.EventReadingTypeSensorSpecific, EventData: types.EventData{EventData1: what.event, EventData2: 0xff, EventData3: 0xff},
	}}
	return sel.Pack()
}

// clearLog clears the log, or tells how far that is: it is done at once.
func clearLog(hw *hardware, request []byte) ([]byte, types.CompletionCode) {
	const initiate, status = 0xaa, 0x00
	var q storage.ClearSELRequest
	if len(request) != len(q.Pack()) || string(request[2:5]) != "CLR" {
		return nil, types.CodeRequestDataLengthInvalid
	}
	if !hw.machine.Log.Reserved(binary.LittleEndian.Uint16(request)) {
		return nil, types.CodeReservationCanceled
	}
	switch request[5] {
	case initiate:
		hw.machine.Log.Clear()
	case status:
	default:
		return nil, types.CodeRequestDataFieldInvalid
	}
	return []byte{logErased}, types.CodeOK
}
