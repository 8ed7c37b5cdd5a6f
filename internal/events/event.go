package events

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"go.temper.dev/temper/internal/mask"
	"go.temper.dev/temper/internal/node"
)

// Event is something that happened.
type Event struct {
	Seq       int64 // grows along the stream, with gaps
	At        time.Time
	Type      string // baremetal.node.provision_set.start, operation.accepted, ...
	NodeUUID  string // "" = it is about no node
	NodeName  string // as it was then
	Operation int64  // 0 = it is about no operation
	Kind      string // of the operation
	Cause     string // why it failed, a code; "" = it did not, or nobody knows
	Data      map[string]any
	Owners    node.Owners // of the node at that time; clients do not get it
}

// MarshalJSON returns one object: the common fields, and then those of Data. Passwords in URLs are masked.
func (e Event) MarshalJSON() ([]byte, error) {
	out, err := json.Marshal(struct {
		Seq       int64   `json:"seq"`
		At        string  `json:"at"`
		Type      string  `json:"type"`
		NodeUUID  *string `json:"node_uuid"`
		NodeName  *string `json:"node_name"`
		Operation *string `json:"operation"`
		Kind      *string `json:"kind"`
		Cause     *string `json:"cause"`
	}{
		e.Seq, e.At.UTC().Format("2006-01-02T15:04:05.000000Z07:00"), e.Type, orNull(e.NodeUUID), orNull(e.NodeName),
		orNull(idOrNone(e.Operation)), orNull(e.Kind), orNull(e.Cause),
	})
	if err != nil || len(e.Data) == 0 {
		return out, err
	}
	more, err := json.Marshal(masked(e.Data))
	if err != nil {
		return nil, err
	}
	return slices.Concat(out[:len(out)-1], []byte(","), more[1:]), nil
}

func idOrNone(id int64) string {
	if id == 0 {
		return ""
	}
	return strconv.FormatInt(id, 10)
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// masked is v with the secrets in URLs masked, wherever they are.
func masked(v any) any {
	switch v := v.(type) {
	case string:
		return mask.URLs(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = masked(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = masked(v[k])
		}
		return out
	}
	return v
}

// block is the event in the form of text/event-stream.
func (e Event) block() ([]byte, error) {
	body, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("event %d: %w", e.Seq, err)
	}
	return fmt.Appendf(nil, "id: %d\ndata: %s\n\n", e.Seq, body), nil
}

// Filter says which events somebody wants. An empty field wants all.
type Filter struct {
	NodeUUID   string
	Kinds      []string // of the operation
	Operations []int64
	Causes     []string
	Only       *node.View // of the nodes at that time; nil = all, also what is about no node
	Types      []string   // whole types, or their beginnings up to a dot: baremetal, baremetal.node, operation
}

// Wants reports whether the event is one of those.
func (f *Filter) Wants(e *Event) bool {
	return f.Only.Shows(e.Owners) && (f.NodeUUID == "" || f.NodeUUID == e.NodeUUID) &&
		(len(f.Kinds) == 0 || slices.Contains(f.Kinds, e.Kind)) &&
		(len(f.Operations) == 0 || slices.Contains(f.Operations, e.Operation)) &&
		(len(f.Causes) == 0 || slices.Contains(f.Causes, e.Cause)) &&
		(len(f.Types) == 0 || slices.ContainsFunc(f.Types, func(wanted string) bool { return isOf(e.Type, wanted) }))
}
