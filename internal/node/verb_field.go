package node

import (
	"slices"
	"strings"
)

// VerbField is a field of requests for verbs: of PUT /v1/nodes/X/states/provision and, unless it has steps, of POST
// /temper/v1/nodes/X/operations.
type VerbField struct {
	Name string
	// Takes are the verbs that have the field, by event, in the order in which errors name them.
	Takes []TakesField
	// Steps marks a list of steps. Temper's own API has one field, steps, for those of all verbs.
	Steps bool
	// Ours marks a field that only requests of Temper's own API have.
	Ours bool

	quoted bool // errors have the verbs in quotation marks (Ironic does so for one field)
}

// TakesField is a verb that has a field, from microversion 1.Minor on.
type TakesField struct {
	Event Event
	Minor int
}

// VerbFields are the fields that only some verbs have, besides the config drive (api/controllers/v1/node.py, provision). A request of
// another verb with one of them is refused. The order is that in which Ironic looks at them.
var VerbFields = []VerbField{
	{Name: "disable_ramdisk", Takes: []TakesField{{EventClean, 70}, {EventService, 108}}, quoted: true},
	{Name: "clean_steps", Takes: []TakesField{{EventClean, 1}}, Steps: true},
	{Name: "deploy_steps", Takes: []TakesField{{EventDeploy, 69}, {EventRebuild, 69}}, Steps: true},
	{Name: "service_steps", Takes: []TakesField{{EventService, 87}}, Steps: true},
	{Name: "rescue_password", Takes: []TakesField{{EventRescue, 1}}},
	{Name: RescueKeys, Takes: []TakesField{{EventRescue, 1}}, Ours: true},
	{Name: "runbook", Takes: []TakesField{{EventClean, 92}, {EventService, 92}}},
}

// Minor returns the first microversion, 1.N, that has the field at all.
func (f VerbField) Minor() int {
	return slices.MinFunc(f.Takes, func(a, b TakesField) int { return a.Minor - b.Minor }).Minor
}

// Of reports whether requests for v have the field in microversion 1.minor.
func (f VerbField) Of(v Verb, minor int) bool {
	return slices.ContainsFunc(f.Takes, func(t TakesField) bool { return t.Event == v.Event && t.Minor <= minor })
}

// Targets names the verbs that have the field in microversion 1.minor, as an error does.
func (f VerbField) Targets(minor int) string {
	var words []string
	for _, t := range f.Takes {
		if t.Minor > minor {
			continue
		}
		word := Verbs[slices.IndexFunc(Verbs, func(v Verb) bool { return v.Event == t.Event })].Target
		if f.quoted {
			word = `"` + word + `"`
		}
		words = append(words, word)
	}
	return strings.Join(words, " or ")
}

// VerbFieldNames returns the names of the fields that requests of Ironic's API have, or of Temper's own.
func VerbFieldNames(ours bool) (out []string) {
	for _, f := range VerbFields {
		if ours && !f.Steps || !ours && !f.Ours {
			out = append(out, f.Name)
		}
	}
	return out
}
