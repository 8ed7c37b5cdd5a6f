package ipmi

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/bougou/go-ipmi/pkg/command/storage"
	"github.com/bougou/go-ipmi/pkg/types"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
)

// logTime limits one reading of the log, which takes a command for each entry.
const logTime = 10 * time.Minute

const (
	lastRecord = 0xffff    // the next record's number after the last one
	wholeEntry = 0xff      // read all bytes of a record
	maxEntries = 1 << 16   // records that are read; their numbers have 16 bits
	logName    = "SEL"     // the system event log
	firstTime  = 315532800 // 1980: times before count from the BMC's start (IPMI 2.0, 37.1)
)

// Events reads the system event log from its beginning.
func (s *session) Events(ctx context.Context, limit int) (bmc.Events, error) {
	ctx, cancel := context.WithTimeout(ctx, logTime)
	defer cancel()
	out, err := s.events(ctx, limit)
	return bmc.Events{List: out}, s.wrap("read the event log", err)
}

func (s *session) events(ctx context.Context, limit int) ([]bmc.Event, error) {
	var out []bmc.Event
	for next, read := uint16(0), 0; next != lastRecord; read++ {
		request := &storage.GetSELEntryRequest{RecordID: next, ReadBytes: wholeEntry}
		var entry storage.GetSELEntryResponse
		err := s.read(ctx, request, &entry)
		var no *refusal
		if next == 0 && errors.As(err, &no) && no.code == types.CodeRequestedDataNotPresent {
			return nil, nil // the log is empty
		}
		if err != nil {
			return nil, err
		}
		e, err := parseEvent(entry.Data)
		if err != nil {
			return nil, malformed(request.Command(), err)
		}
		if out = append(out, e); len(out) > limit {
			out = out[1:]
		}
		if read == maxEntries || entry.NextRecordID == next {
			return nil, fault.New(fault.Refused, "the BMC's event log does not end: record %#x follows itself", next)
		}
		next = entry.NextRecordID
	}
	return out, nil
}

// ClearEvents clears the system event log. That needs a reservation, which ends when anybody else reserves or clears the log. It
// does not wait until the BMC has erased the entries.
func (s *session) ClearEvents(ctx context.Context) ([]string, error) {
	for try := 1; ; try++ {
		err := s.clearLog(ctx)
		switch {
		case err == nil:
			return []string{logName}, nil
		case try == maxReserved || !refusedWith(err, types.CodeReservationCanceled):
			return nil, s.wrap("clear the event log", err)
		}
	}
}

func (s *session) clearLog(ctx context.Context) error {
	var reserved storage.ReserveSELResponse
	var no *refusal
	if err := s.read(ctx, &storage.ReserveSELRequest{}, &reserved); err != nil && !(errors.As(err, &no) && no.unsupported()) {
		return err
	}
	return s.change(bmc.Asking(ctx, bmc.NameClearEvents), &storage.ClearSELRequest{ReservationID: reserved.ReservationID}, false)
}

// parseEvent parses a record of the log (IPMI 2.0, table 32-1).
func parseEvent(record []byte) (bmc.Event, error) {
	const size = 16
	if len(record) != size {
		return bmc.Event{}, fmt.Errorf("a record has %d bytes, not %d", len(record), size)
	}
	sel, err := types.ParseSEL(record)
	if err != nil {
		return bmc.Event{}, err
	}
	out := bmc.Event{Log: logName, ID: strconv.Itoa(int(sel.RecordID)), Asserted: true, Sensor: fmt.Sprintf("OEM record %#02x", uint8(sel.RecordType)), Text: fmt.Sprintf("%x", record[3:])}
	switch {
	case sel.Standard != nil:
		out.At = eventTime(sel.Standard.Timestamp)
		out.Sensor = fmt.Sprintf("%s %#02x", sel.Standard.SensorType, uint8(sel.Standard.SensorNumber))
		out.Asserted = sel.Standard.EventDir == types.EventDirAssertion
		out.Severity = string(sel.Standard.EventSeverity())
		if text := sel.Standard.EventString(); text != "" {
			out.Text = text
		}
	case sel.OEMTimestamped != nil:
		out.At = eventTime(sel.OEMTimestamped.Timestamp)
	}
	return out, nil
}

// eventTime returns a time of the log, zero if the BMC's clock was not set.
func eventTime(t time.Time) time.Time {
	if t.Unix() < firstTime || t.Unix() == 0xffffffff {
		return time.Time{}
	}
	return t.UTC()
}
