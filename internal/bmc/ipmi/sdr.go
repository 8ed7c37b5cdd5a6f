package ipmi

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/bougou/go-ipmi/pkg/command/storage"
	"github.com/bougou/go-ipmi/pkg/types"

	"go.temper.dev/temper/internal/text"
)

const (
	sdrHeader   = 5   // bytes
	maxSDR      = 512 // records that are read
	sdrChunk    = 16  // bytes at a time, of BMCs that can't return a whole record
	maxSensor   = 40  // bytes of a sensor's name
	maxReserved = 10  // how often the reading of a record in parts is begun, if others reserve the repository meanwhile
)

// sensor is what the repository of sensor data records (SDR) says of a sensor of the BMC.
type sensor struct {
	number uint8
	name   string
	kind   types.SensorType
	class  types.EventReadingType
	entity types.EntityID
	full   *types.SDRFull // nil = it measures nothing
}

// repository is the SDR repository as it was read. It seldom changes, and reading it takes some hundred commands.
type repository struct {
	info    storage.GetSDRRepoInfoResponse
	sensors []sensor
}

// sensors returns the sensors of the BMC. The repository is read only if it has changed. A BMC without a repository has no sensors.
func (s *session) sensors(ctx context.Context) ([]sensor, error) {
	var now storage.GetSDRRepoInfoResponse
	var no *refusal
	if err := s.read(ctx, &storage.GetSDRRepoInfoRequest{}, &now); errors.As(err, &no) && no.unsupported() {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if known := s.endpoint.repository.Load(); known != nil && known.info == now {
		return known.sensors, nil
	}
	all, err := s.readSDR(ctx)
	if err == nil {
		s.endpoint.repository.Store(&repository{now, all})
	}
	return all, err
}

// readSDR reads the repository from its beginning.
func (s *session) readSDR(ctx context.Context) ([]sensor, error) {
	var no *refusal
	var out []sensor
	for next, read := uint16(0), 0; next != lastRecord && read < maxSDR; read++ {
		record, following, err := s.readRecord(ctx, next)
		if errors.As(err, &no) && no.code == types.CodeRequestedDataNotPresent {
			return out, nil // there is no such record
		}
		if err != nil {
			return nil, err
		}
		if one, ok := sensorOf(record); ok {
			out = append(out, one)
		}
		if following == next {
			break
		}
		next = following
	}
	return out, nil
}

// readRecord reads a record, and returns it with the number of the next one. A BMC that can't return it whole is asked for
// its parts.
func (s *session) readRecord(ctx context.Context, id uint16) (record []byte, next uint16, err error) {
	var answer storage.GetSDRResponse
	err = s.read(ctx, &storage.GetSDRRequest{RecordID: id, ReadBytes: wholeEntry}, &answer)
	if !refusedWith(err, types.CodeCannotReturnRequestedDataBytes, types.CodeRequestDataLengthLimitExceeded, types.CodeParameterOutOfRange, types.CodeReservationCanceled) {
		return answer.RecordData, answer.NextRecordID, err
	}
	for try := 1; ; try++ {
		record, next, err = s.readParts(ctx, id)
		if try == maxReserved || !refusedWith(err, types.CodeReservationCanceled) {
			return record, next, err
		}
	}
}

// readParts reads a record in parts. This needs a reservation, which ends when anybody else reserves or changes the repository
// (IPMI 2.0, 33.11).
func (s *session) readParts(ctx context.Context, id uint16) (record []byte, next uint16, err error) {
	var reserved storage.ReserveSDRRepoResponse
	var no *refusal
	if err := s.read(ctx, &storage.ReserveSDRRepoRequest{}, &reserved); err != nil && !(errors.As(err, &no) && no.unsupported()) {
		return nil, 0, err
	}
	for size := sdrHeader; len(record) < size; {
		want := min(size-len(record), sdrChunk)
		request := &storage.GetSDRRequest{ReservationID: reserved.ReservationID, RecordID: id, ReadOffset: uint8(len(record)), ReadBytes: uint8(want)}
		var part storage.GetSDRResponse
		if err := s.read(ctx, request, &part); err != nil {
			return nil, 0, err
		}
		if len(part.RecordData) == 0 {
			return nil, 0, malformed(request.Command(), errors.New("a part of a record is empty"))
		}
		record, next = append(record, part.RecordData[:min(len(part.RecordData), want)]...), part.NextRecordID
		if len(record) == sdrHeader {
			size += int(record[sdrHeader-1]) // the length of what follows
		}
	}
	return record, next, nil
}

// refusedWith reports whether a BMC has answered with one of the codes.
func refusedWith(err error, codes ...types.CompletionCode) bool {
	var no *refusal
	return errors.As(err, &no) && slices.Contains(codes, no.code)
}

// sensorOf returns the sensor of a record; ok is false if the record is of something else, is malformed, or is of a sensor that
// the BMC does not read itself.
func sensorOf(record []byte) (out sensor, ok bool) {
	sdr, err := types.ParseSDR(record, 0)
	if err != nil {
		return sensor{}, false
	}
	var owner types.GeneratorID
	var name []byte
	switch {
	case sdr.Full != nil:
		f := sdr.Full
		owner, name = f.GeneratorID, f.IDStringBytes
		out = sensor{number: uint8(f.SensorNumber), kind: f.SensorType, class: f.SensorEventReadingType, entity: f.SensorEntityID, full: f}
	case sdr.Compact != nil:
		c := sdr.Compact
		owner, name = c.GeneratorID, c.IDStringBytes
		out = sensor{number: uint8(c.SensorNumber), kind: c.SensorType, class: c.SensorEventReadingType, entity: c.SensorEntityID}
	default:
		return sensor{}, false
	}
	out.name = text.Line(strings.TrimRight(string(name), "\x00 "), maxSensor)
	return out, owner == types.GeneratorBMC
}
