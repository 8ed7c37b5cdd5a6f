package main

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/test/stack"
)

// outcome returns the findings of a demonstration in which all is right.
type outcome struct {
	names         []string
	nodes         map[string]stack.Node
	ops           []stack.Operation
	before, after map[string]stack.Server
	touched       map[string]bool
}

func asPromised(t *testing.T) *outcome {
	t.Helper()
	o := &outcome{nodes: map[string]stack.Node{}, before: map[string]stack.Server{}, after: map[string]stack.Server{}, touched: map[string]bool{"n0": true}}
	for i := range deploys {
		name := fmt.Sprintf("n%d", i)
		o.names = append(o.names, name)
		o.nodes[name] = stack.Node{Name: name, State: "active", Power: "power on"}
		o.ops = append(o.ops, stack.Operation{ID: fmt.Sprint(i), Node: name, Kind: "deploy", State: "ended", Outcome: "succeeded"})
		o.before[name] = serverOf(t, `{"power_actions":[{"reset_type":"On","from":"Off","to":"On"}]}`)
		o.after[name] = serverOf(t, undisturbed)
	}
	return o
}

const undisturbed = `{"disk_sha256":"d","power_actions":[{"reset_type":"On","from":"Off","to":"On"},
	{"reset_type":"ForceOff","from":"On","to":"Off"},{"reset_type":"On","from":"Off","to":"On"}]}`

const twice = `{"disk_sha256":"d","power_actions":[{"reset_type":"On","from":"Off","to":"On"},
	{"reset_type":"ForceOff","from":"On","to":"Off"},{"reset_type":"On","from":"Off","to":"On"},
	{"reset_type":"ForceOff","from":"On","to":"Off"},{"reset_type":"On","from":"Off","to":"On"}]}`

func serverOf(t *testing.T, text string) stack.Server {
	t.Helper()
	var s stack.Server
	require.NoError(t, json.Unmarshal([]byte(text), &s))
	return s
}

func (o *outcome) judge() error {
	v := verdict{}
	v.states(o.names, o.nodes)
	v.operations(o.ops)
	v.disks(o.names, o.after, "d")
	if err := v.power(o.names, o.before, o.after, o.touched); err != nil {
		return err
	}
	return v.err()
}

func TestOnlyWhatWasPromisedIsASuccess(t *testing.T) {
	require.NoError(t, asPromised(t).judge())
	for name, c := range map[string]struct {
		spoil func(*outcome)
		want  string
	}{
		"a node that failed":              {func(o *outcome) { o.nodes["n3"] = stack.Node{State: "deploy failed", LastError: "no agent"} }, "n3 is deploy failed: no agent"},
		"a node that is off":              {func(o *outcome) { o.nodes["n3"] = stack.Node{State: "active", Power: "power off"} }, "n3 is active and power off"},
		"a node that is not there":        {func(o *outcome) { delete(o.nodes, "n3") }, "n3 is  and "},
		"a node that is still reserved":   {func(o *outcome) { o.nodes["x"] = stack.Node{State: "available", Reservation: "operation-7"} }, "x is still reserved by operation-7"},
		"another node that failed":        {func(o *outcome) { o.nodes["x"] = stack.Node{State: "clean failed"} }, "x is clean failed"},
		"an operation that was cancelled": {func(o *outcome) { o.ops[2].Outcome = "cancelled" }, `outcome "cancelled"`},
		"an operation too many":           {func(o *outcome) { o.ops = append(o.ops, o.ops[0]) }, "13 deploys were made of 12 requests"},
		"a disk without the image":        {func(o *outcome) { o.after["n5"] = serverOf(t, `{}`); o.before["n5"] = stack.Server{} }, `the disk of n5 has sha256 ""`},
		"a server that was cycled twice":  {func(o *outcome) { o.after["n0"] = serverOf(t, twice) }, "power actions on n0"},
		"nobody to compare with": {func(o *outcome) {
			for _, n := range o.names {
				o.touched[n] = true
			}
		}, "nothing to compare the others with"},
		"a rack that saw nothing": {func(o *outcome) { o.after["n1"] = o.before["n1"] }, "no power action on n1"},
	} {
		t.Run(name, func(t *testing.T) {
			o := asPromised(t)
			c.spoil(o)
			require.ErrorContains(t, o.judge(), c.want)
		})
	}
}

func TestWhereAStepGoesOn(t *testing.T) {
	l := &loss{victim: "c1"}
	steps := []stack.Step{{Step: "prepare", Conductor: "c1"}, {Step: "deploy", Conductor: "c2"}, {Step: "write_image"}}
	require.Equal(t, "deploy", l.elsewhere(steps).Step)
	require.Nil(t, l.elsewhere(steps[2:]), "a step that nobody has begun is nowhere")
	require.Nil(t, l.elsewhere(steps[:1]))
}
