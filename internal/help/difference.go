package help

import (
	"fmt"
)

// TemporalObject is a kind of thing that Temper makes in Temporal.
type TemporalObject string

// What Temper makes in Temporal.
const (
	TemporalNamespace TemporalObject = "namespace"
	TemporalAttribute TemporalObject = "search attribute"
	TemporalSchedule  TemporalObject = "schedule"
	TemporalWorkflow  TemporalObject = "workflow"
)

// PausedField is the field of a schedule that a person sets in Temporal, and that Temper leaves alone.
const PausedField = "paused"

// Difference is a field of something in Temporal that is not as this version of Temper wants it.
type Difference struct {
	Namespace string
	Object    TemporalObject
	Name      string // of the object in its namespace; "" = it is the namespace
	Field     string // "" = the object is missing
	Have      string // "" of a search attribute: it is missing
	Want      string
	Flags     string // with which Temporal's command line makes a schedule as it is wanted
}

// What names the object.
func (d Difference) What() string {
	if d.Name == "" {
		return string(d.Object)
	}
	return string(d.Object) + " " + d.Name
}

// Missing reports whether the object itself is missing.
func (d Difference) Missing() bool {
	return d.Field == "" || d.Object == TemporalAttribute && d.Have == ""
}

// Words says how it differs, and in which namespace.
func (d Difference) Words() string {
	where := "in namespace " + d.Namespace + ", " + d.What()
	if d.Object == TemporalNamespace {
		where = "namespace " + d.Namespace
	}
	if d.Missing() {
		return where + " is missing"
	}
	return fmt.Sprintf("%s: %s is %s, and %s is wanted", where, d.Field, d.Have, d.Want)
}
