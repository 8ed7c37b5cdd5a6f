package worker

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	schedulepb "go.temporal.io/api/schedule/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// fieldsOf calls each with every field below m that is no message itself, after it was given another value, and with the field's path.
func fieldsOf(path string, root, m protoreflect.Message, each func(path string)) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		name := path + string(f.Name())
		was := m.Has(f)
		if f.Message() != nil && f.Cardinality() != protoreflect.Repeated && !isTime(m.Get(f).Message()) {
			fieldsOf(name+".", root, m.Mutable(f).Message(), each)
			if !was {
				m.Clear(f)
			}
			continue
		}
		before := m.Get(f)
		if f.IsList() || f.IsMap() {
			before = protoreflect.ValueOf(nil)
			if was {
				continue // the interval; see below
			}
		}
		m.Set(f, another(f, m))
		each(name)
		if m.Clear(f); was {
			m.Set(f, before)
		}
	}
}

// another returns a value that the field does not have.
func another(f protoreflect.FieldDescriptor, m protoreflect.Message) protoreflect.Value {
	switch {
	case f.IsMap():
		v := m.NewField(f)
		v.Map().Set(protoreflect.ValueOfString("key").MapKey(), v.Map().NewValue())
		return v
	case f.IsList():
		v := m.NewField(f)
		v.List().Append(v.List().NewElement())
		return v
	case f.Message() != nil:
		v := m.NewField(f)
		v.Message().Set(f.Message().Fields().ByName("nanos"), protoreflect.ValueOfInt32(7))
		return v
	case f.Enum() != nil:
		return protoreflect.ValueOfEnum(m.Get(f).Enum() + 1)
	}
	switch f.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(!m.Get(f).Bool())
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(m.Get(f).String() + "x")
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte("x"))
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(7)
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(7)
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(7)
	}
	return protoreflect.ValueOfInt64(7)
}

// Whatever a person changes in the schedule is found, and named, except for a pause.
func TestEveryFieldOfAScheduleIsCompared(t *testing.T) {
	have := wantedSchedule(time.Hour, nil)
	require.Empty(t, Place{}.scheduleDifferences(have, time.Hour))
	seen := 0
	fieldsOf("", have.ProtoReflect(), have.ProtoReflect(), func(path string) {
		seen++
		got := Place{}.scheduleDifferences(have, time.Hour)
		if path == "state.paused" || path == "state.notes" {
			require.Empty(t, got, path)
			return
		}
		require.Len(t, got, 1, path)
		require.Equal(t, path, got[0].Field)
		require.NotEqual(t, got[0].Want, got[0].Have, path)
	})
	require.Greater(t, seen, 30)
	require.Empty(t, Place{}.scheduleDifferences(have, time.Hour), "all was put back")

	got := Place{}.scheduleDifferences(have, time.Minute)
	require.Len(t, got, 1)
	require.JSONEq(t, `[{"interval":"3600s"}]`, got[0].Have)
	require.JSONEq(t, `[{"interval":"60s"}]`, got[0].Want)
	empty := proto.Clone(have).(*schedulepb.Schedule)
	empty.Spec = nil
	require.Equal(t, "none", Place{}.scheduleDifferences(empty, time.Hour)[0].Have)
}
