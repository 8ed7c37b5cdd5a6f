package agent

import (
	"fmt"
	"strings"
	"time"

	"go.temper.dev/temper/internal/text"
)

// Overwritten is the method of an erasure that wrote zeros to the whole disk.
const Overwritten = "overwritten with zeros"

// Erasure is the evidence that a disk was erased: the result of Temper's erase_devices has one of each. Other agents return none.
type Erasure struct {
	Disk    Text   `json:"disk"`   // its path
	Serial  Text   `json:"serial"` // "" = the kernel does not know it
	Method  string `json:"method"`
	Bytes   Number `json:"bytes"`
	Began   Number `json:"began,omitempty"` // when, in seconds since 1970 by the clock of the agent's machine; 0 = it did not say
	Seconds Number `json:"seconds"`         // how long it took
	Samples Number `json:"samples"`         // at how many places was read what the disk has now; 0 = it was not verified
	Why     Text   `json:"why,omitempty"`   // why the disk did not erase itself, where it should have
}

// Words describes the evidence for people, in one clause.
func (e Erasure) Words() string {
	disk := string(e.Disk)
	if e.Serial != "" {
		disk += " (" + string(e.Serial) + ")"
	}
	verified := "not verified"
	if e.Samples > 0 {
		verified = fmt.Sprintf("verified at %d places", int64(e.Samples))
	}
	words := fmt.Sprintf("%s was %s: %s in %s, %s", disk, OneLine(e.Method), text.Size(float64(e.Bytes)), text.Duration(time.Duration(e.Seconds)*time.Second), verified)
	if e.Began > 0 {
		words += ", begun " + text.Moment(time.Unix(int64(e.Began), 0))
	}
	if e.Why != "" {
		words += "; it did not erase itself: " + OneLine(string(e.Why))
	}
	return words
}

// Erasures returns the evidence in the result of a step, as far as there is some.
func (r Result) Erasures() []Erasure {
	var result struct {
		Clean   []Erasure `json:"clean_result"`
		Service []Erasure `json:"service_result"`
	}
	if !strings.HasPrefix(r.Name, "execute_") || r.Decode(&result) != nil { // other steps have results of other shapes
		return nil
	}
	return append(result.Clean, result.Service...)
}

// LogicalDisks returns those of the RAID configuration that a step returns, nil if it returns none.
func (r Result) LogicalDisks() []any {
	type config struct {
		Disks []any `json:"logical_disks"`
	}
	var result struct {
		Clean  config `json:"clean_result"`
		Deploy config `json:"deploy_result"`
	}
	if r.Decode(&result) != nil {
		return nil
	}
	if result.Clean.Disks != nil {
		return result.Clean.Disks
	}
	return result.Deploy.Disks
}
