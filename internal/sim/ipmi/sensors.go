package ipmi

import (
	"strconv"

	"github.com/bougou/go-ipmi/pkg/command/sensor"
	"github.com/bougou/go-ipmi/pkg/command/storage"
	"github.com/bougou/go-ipmi/pkg/handlers"
	"github.com/bougou/go-ipmi/pkg/types"

	"go.temper.dev/temper/internal/sim/machine"
)

// Entities (IPMI 2.0, table 43-13).
const (
	entityProcessor types.EntityID = 3
	entityFan       types.EntityID = 29
	entityExhaust   types.EntityID = 54
	entityInlet     types.EntityID = 55
)

// rpmUnit is how many revolutions a minute one count of a fan's sensor is.
const rpmUnit = 60

// maxRead is how many bytes of a record the BMC returns at once. Real ones can't return more than fits into a message of
// their bus, either.
const maxRead = 24

// probe is a sensor: its record, and what it reads.
type probe struct {
	record types.SDRFull
	read   func(hw *hardware) sensor.GetSensorReadingResponse
}

// probes are the sensors of a server, by their number.
var probes = func() (all []probe) {
	add := func(name string, kind types.SensorType, entity types.EntityID, unit types.SensorUnitType, factor int16, read func(*hardware) sensor.GetSensorReadingResponse) {
		all = append(all, probe{read: read, record: types.SDRFull{
			GeneratorID: types.GeneratorBMC, SensorNumber: types.SensorNumber(len(all)), SensorEntityID: entity, SensorEntityInstance: 1,
			SensorType: kind, SensorEventReadingType: types.EventReadingTypeThreshold, SensorUnit: types.SensorUnit{BaseUnit: unit},
			ReadingFactors: types.ReadingFactors{M: factor}, IDStringTypeLength: types.TypeLength(0xc0 | len(name)), IDStringBytes: []byte(name),
		}})
	}
	for i, entity := range []types.EntityID{entityInlet, entityProcessor, entityExhaust} {
		add(machine.Temperatures[i].Name, types.SensorTypeTemperature, entity, types.SensorUnitType_DegreesC, 1, func(hw *hardware) (r sensor.GetSensorReadingResponse) {
			celsius, ok := hw.machine.Celsius(i)
			r.Reading, r.ReadingUnavailable, r.Above_UCR = uint8(celsius), !ok, ok && celsius >= machine.Temperatures[i].Critical
			return r
		})
	}
	for i := range machine.FanCount {
		add("Fan "+strconv.Itoa(i+1), types.SensorTypeFan, entityFan, types.SensorUnitType_RPM, rpmUnit, func(hw *hardware) (r sensor.GetSensorReadingResponse) {
			on := hw.machine.PowerState() == machine.On
			r.Reading, r.ReadingUnavailable, r.Below_LCR = uint8(hw.machine.RPM(i)/rpmUnit), !on, on && hw.machine.FanFailed(i)
			return r
		})
	}
	return all
}()

func registerSensors(r *handlers.Registry) {
	register(r, types.CommandGetSDRRepoInfo, func(*hardware, []byte) ([]byte, types.CompletionCode) {
		return (&storage.GetSDRRepoInfoResponse{SDRVersion: 0x51, RecordCount: uint16(len(probes)), SDROperationSupport: storage.SDROperationSupport{SupportReserveSDRRepo: true}}).Pack(), types.CodeOK
	})
	register(r, types.CommandReserveSDRRepo, func(*hardware, []byte) ([]byte, types.CompletionCode) {
		return (&storage.ReserveSDRRepoResponse{ReservationID: 1}).Pack(), types.CodeOK
	})
	register(r, types.CommandGetSDR, getSDR)
	register(r, types.CommandGetSensorReading, getReading)
}

// getSDR returns a part of a record. Records have the numbers of their sensors.
func getSDR(_ *hardware, request []byte) ([]byte, types.CompletionCode) {
	var q storage.GetSDRRequest
	if q.Unpack(request) != nil {
		return nil, types.CodeRequestDataLengthInvalid
	}
	if int(q.RecordID) >= len(probes) {
		return nil, types.CodeRequestedDataNotPresent
	}
	record := probes[q.RecordID].record.Pack(q.RecordID)
	switch {
	case int(q.ReadOffset) > len(record):
		return nil, types.CodeParameterOutOfRange
	case q.ReadBytes > maxRead:
		return nil, types.CodeCannotReturnRequestedDataBytes
	}
	end := min(int(q.ReadOffset)+int(q.ReadBytes), len(record))
	answer := storage.GetSDRResponse{NextRecordID: q.RecordID + 1, RecordData: record[q.ReadOffset:end]}
	if int(q.RecordID) == len(probes)-1 {
		answer.NextRecordID = 0xffff
	}
	return answer.Pack(), types.CodeOK
}

func getReading(hw *hardware, request []byte) ([]byte, types.CompletionCode) {
	if len(request) < 1 {
		return nil, types.CodeRequestDataLengthInvalid
	}
	if int(request[0]) >= len(probes) {
		return nil, types.CodeRequestedDataNotPresent
	}
	r := probes[request[0]].read(hw)
	const scanning, unavailable, lowerCritical, upperCritical = 0x40, 0x20, 0x02, 0x10
	answer := []byte{r.Reading, scanning, 0}
	if r.ReadingUnavailable {
		answer[1] |= unavailable
	}
	if r.Below_LCR {
		answer[2] |= lowerCritical
	}
	if r.Above_UCR {
		answer[2] |= upperCritical
	}
	return answer, types.CodeOK
}
