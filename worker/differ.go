package worker

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	commonpb "go.temporal.io/api/common/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"go.temper.dev/temper/internal/mask"
	"go.temper.dev/temper/internal/text"
)

// differing is a field that two messages have with different values; "" = not set.
type differing struct{ name, have, want string }

// differ compares two messages of one type, field by field. A message that is not set equals an empty one.
func differ(path string, have, want protoreflect.Message) (out []differing) {
	fields := have.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		h, w := have.Get(f), want.Get(f)
		if h.Equal(w) {
			continue
		}
		name := path + string(f.Name())
		if f.Message() != nil && f.Cardinality() != protoreflect.Repeated && !isTime(h.Message()) {
			out = append(out, differ(name+".", h.Message(), w.Message())...)
			continue
		}
		out = append(out, differing{name, shown(f, have), shown(f, want)})
	}
	return out
}

func isTime(m protoreflect.Message) bool {
	switch m.Interface().(type) {
	case *durationpb.Duration, *timestamppb.Timestamp:
		return true
	}
	return false
}

// bounded returns what a person wrote in Temporal as it may be shown and stored. It masks before it cuts, because half a URL
// can't be masked.
func bounded(words string) string { return text.Storable(mask.URLs(words), 300) }

// shown returns the value of a field for people, bounded; "" = it is not set.
func shown(f protoreflect.FieldDescriptor, m protoreflect.Message) string {
	if !m.Has(f) {
		return ""
	}
	v := m.Get(f)
	if !f.IsMap() && !f.IsList() {
		return bounded(shownOne(f, v))
	}
	var words []string
	if f.IsMap() { // of payloads, which may be anything
		v.Map().Range(func(k protoreflect.MapKey, _ protoreflect.Value) bool { words = append(words, k.String()); return true })
	} else {
		for i := range v.List().Len() {
			words = append(words, shownOne(f, v.List().Get(i)))
		}
	}
	return bounded("[" + strings.Join(words, ", ") + "]")
}

func shownOne(f protoreflect.FieldDescriptor, v protoreflect.Value) string {
	if f.Enum() != nil {
		if value := f.Enum().Values().ByNumber(v.Enum()); value != nil {
			return string(value.Name())
		}
	}
	if f.Kind() == protoreflect.BytesKind { // of a payload, which may be anything
		return fmt.Sprintf("%d bytes", len(v.Bytes()))
	}
	if f.Message() == nil {
		return v.String()
	}
	switch m := v.Message().Interface().(type) {
	case *durationpb.Duration:
		return m.AsDuration().String()
	case *timestamppb.Timestamp:
		return text.Moment(m.AsTime())
	case *commonpb.Payload:
		return fmt.Sprintf("a payload of %d bytes", len(m.GetData()))
	default:
		b, err := protojson.Marshal(m)
		var compact bytes.Buffer // protojson adds spaces at random
		if err != nil || json.Compact(&compact, b) != nil {
			return "a value that can't be shown"
		}
		return compact.String()
	}
}
