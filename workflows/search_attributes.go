package workflows

import (
	"cmp"
	"strconv"
	"strings"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/text"
)

// Search attributes, as operators filter by them in Temporal's UI.
var (
	NodeID        = temporal.NewSearchAttributeKeyKeyword("TemperNodeID")
	NodeName      = temporal.NewSearchAttributeKeyKeyword("TemperNodeName")
	OperationID   = temporal.NewSearchAttributeKeyKeyword("TemperOperation")
	ConductorName = temporal.NewSearchAttributeKeyKeyword("TemperConductor")
	StepName      = temporal.NewSearchAttributeKeyKeyword("TemperStep")
	WaitingFor    = temporal.NewSearchAttributeKeyKeyword("TemperWaitingFor")
	DriverName    = temporal.NewSearchAttributeKeyKeyword("TemperDriver")
	GroupName     = temporal.NewSearchAttributeKeyKeyword("TemperGroup")
	Cause         = temporal.NewSearchAttributeKeyKeyword("TemperCause")
	Held          = temporal.NewSearchAttributeKeyBool("TemperHeld")
)

// SearchAttributes are all of them, by name.
var SearchAttributes = typesOf(NodeID, NodeName, OperationID, ConductorName, StepName, WaitingFor, DriverName, GroupName, Cause, Held)

func typesOf(keys ...temporal.SearchAttributeKey) map[string]enums.IndexedValueType {
	types := map[string]enums.IndexedValueType{}
	for _, k := range keys {
		types[k.GetName()] = k.GetValueType()
	}
	return types
}

// maxKeyword bounds a keyword, in characters: the columns of Temporal's SQL databases. Temporal takes a longer
// value, and then can't list the workflow.
const maxKeyword = 255

// keyword returns s as a search attribute may have it.
func keyword(s string) string {
	return text.TruncateRunes(strings.ReplaceAll(s, "\x00", ""), maxKeyword)
}

// GroupLabel returns the name of a conductor group as queues and search attributes have it.
func GroupLabel(group string) string { return keyword(cmp.Or(group, "default")) }

// StartAttributes are the search attributes with which the workflow of o begins.
func StartAttributes(o *node.Operation) temporal.SearchAttributes {
	start := []temporal.SearchAttributeUpdate{
		NodeID.ValueSet(o.NodeUUID), NodeName.ValueSet(keyword(cmp.Or(o.NodeName, o.NodeUUID))), OperationID.ValueSet(strconv.FormatInt(o.ID, 10)),
		GroupName.ValueSet(GroupLabel(o.Group)), Held.ValueSet(false),
	}
	if o.Driver != "" {
		start = append(start, DriverName.ValueSet(keyword(o.Driver)))
	}
	if s := o.CurrentStep(); s != nil {
		start = append(start, StepName.ValueSet(keyword(s.Name())))
	}
	return temporal.NewSearchAttributes(start...)
}

// startedWith returns those of StartAttributes that seldom change, as the workflow was started with them.
func startedWith(ctx workflow.Context) map[string]any {
	shown := map[string]any{Cause.GetName(): "", Held.GetName(): false}
	have := workflow.GetTypedSearchAttributes(ctx)
	for _, key := range []temporal.SearchAttributeKeyKeyword{DriverName, GroupName} {
		if v, ok := have.GetKeyword(key); ok {
			shown[key.GetName()] = v
		}
	}
	return shown
}

// upsertSearchAttributes brings the search attributes up to date when the operation begins to wait and when a
// step lasts. Each upsert costs an event. So it sends one only if conductor, step or what the operation waits
// for has changed, and the others go with it.
func (o *operation) upsertSearchAttributes(ctx workflow.Context) {
	if moved := o.changed(o.moving()); len(moved) > 0 {
		o.upsert(ctx, append(moved, o.changed(o.resting())...))
	}
}

// upsertUnlessWell brings the search attributes up to date when a failed operation is undone or has ended, so that it is
// found by its cause, and when one that was held goes on. outcome is "" for one that goes on. After other successes
// they say what the operation did last, because another event for each would only say that it has ended.
func (o *operation) upsertUnlessWell(ctx workflow.Context, outcome node.Outcome) {
	stale := o.changed(o.resting())
	if outcome != node.Succeeded {
		stale = append(stale, o.changed(o.moving())...)
	}
	if len(stale) > 0 && workflow.GetVersion(ctx, "search attributes of failures", workflow.DefaultVersion, 1) == 1 {
		o.upsert(ctx, stale)
	}
}

// attribute is a search attribute and the value that it should have: a string or a bool. "" = none.
type attribute struct {
	key   temporal.SearchAttributeKey
	value any
}

// update returns the update that gives the attribute its value.
func (a attribute) update() temporal.SearchAttributeUpdate {
	switch key := a.key.(type) {
	case temporal.SearchAttributeKeyBool:
		return key.ValueSet(a.value == true)
	case temporal.SearchAttributeKeyKeyword:
		if a.value != "" {
			return key.ValueSet(a.value.(string))
		}
		return key.ValueUnset()
	}
	panic("a search attribute is neither a bool nor a keyword: " + a.key.GetName())
}

// moving are the attributes that change as the operation moves.
func (o *operation) moving() []attribute {
	step := ""
	for _, s := range o.progress.Steps {
		if s.State != node.StepDone && s.State != node.StepSkipped {
			step = s.Name
			break
		}
	}
	return []attribute{{ConductorName, o.progress.Conductor}, {StepName, step}, {WaitingFor, o.progress.WaitingFor}}
}

// resting are the attributes that seldom change.
func (o *operation) resting() []attribute {
	return []attribute{
		{DriverName, o.settings.Driver}, {GroupName, GroupLabel(o.settings.Group)}, {Cause, string(o.failure.Cause)}, {Held, o.held != nil},
	}
}

// changed returns those whose value is not as it was sent.
func (o *operation) changed(want []attribute) (out []attribute) {
	for _, a := range want {
		if s, ok := a.value.(string); ok {
			a.value = keyword(s)
		}
		if have, sent := o.shown[a.key.GetName()]; sent && have == a.value {
			continue
		}
		out = append(out, a)
	}
	return out
}

// upsert sends attributes. Only it notes them as sent: a run of an older version that sends none must not take them for sent.
func (o *operation) upsert(ctx workflow.Context, changed []attribute) {
	var updates []temporal.SearchAttributeUpdate
	for _, a := range changed {
		updates = append(updates, a.update())
		o.shown[a.key.GetName()] = a.value
	}
	if err := workflow.UpsertTypedSearchAttributes(ctx, updates...); err != nil {
		workflow.GetLogger(ctx).Warn("the search attributes could not be set", "error", err)
	}
}
