package plan_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
	. "go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/node/nodetest"
	"go.temper.dev/temper/internal/plan"
)

func template(name string, steps ...TemplateStep) DeployTemplate {
	return DeployTemplate{Name: name, Steps: steps}
}

// wants returns a node whose instance asks for traits.
func wants(traits ...any) *Node {
	return nodetest.Redfish(nodetest.Uses("raid", "no-raid"), func(n *Node) { n.InstanceInfo = map[string]any{"traits": traits} })
}

func TestTemplatesAddTheirSteps(t *testing.T) {
	inBand := TemplateStep{Interface: "raid", Step: "apply_configuration", Priority: 90, Args: map[string]any{"raid_config": "x"}}
	other := TemplateStep{Interface: "bios", Step: "tune", Priority: 85, Args: map[string]any{}}
	for name, c := range map[string]struct {
		n         *Node
		asked     []Step
		templates []DeployTemplate
		want      string
	}{
		"of a trait that the instance asks for": {
			wants("CUSTOM_A"), nil,
			[]DeployTemplate{template("CUSTOM_A", inBand), template("CUSTOM_B", other)},
			"core:deploy.prepare@0 driver:deploy.deploy@100 agent:raid.apply_configuration@90 driver:deploy.write_image@80 driver:deploy.prepare_instance_boot@60 " +
				"driver:deploy.tear_down_agent@40 driver:deploy.switch_to_tenant_network@30 driver:deploy.boot_instance@20",
		},
		"of no trait": {wants(), nil, []DeployTemplate{template("CUSTOM_A", inBand)}, directDeploy},
		"which the request overrides": {
			wants("CUSTOM_A", "CUSTOM_B"),
			[]Step{ask("raid", "apply_configuration", 0)},
			[]DeployTemplate{template("CUSTOM_A", inBand), template("CUSTOM_B", other)},
			"core:deploy.prepare@0 driver:deploy.deploy@100 agent:bios.tune@85 driver:deploy.write_image@80 driver:deploy.prepare_instance_boot@60 " +
				"driver:deploy.tear_down_agent@40 driver:deploy.switch_to_tenant_network@30 driver:deploy.boot_instance@20 agent:raid.apply_configuration@0!",
		},
		"or that they switch off": {
			wants("CUSTOM_A"), nil,
			[]DeployTemplate{template("CUSTOM_A", TemplateStep{Interface: "deploy", Step: "tear_down_agent"})},
			"core:deploy.prepare@0 driver:deploy.deploy@100 driver:deploy.write_image@80 driver:deploy.prepare_instance_boot@60 " +
				"driver:deploy.switch_to_tenant_network@30 driver:deploy.boot_instance@20 driver:deploy.tear_down_agent@0!",
		},
	} {
		t.Run(name, func(t *testing.T) {
			steps, err := plan.Steps(KindDeploy, c.n, c.asked, plan.Options{Templates: c.templates})
			require.NoError(t, err)
			require.Equal(t, c.want, line(steps))
			again, err := plan.Steps(KindRebuild, c.n, c.asked, plan.Options{Templates: c.templates})
			require.NoError(t, err)
			require.Equal(t, c.want, line(again), "a rebuild, too")
		})
	}
}

func TestTemplatesThatAreRefused(t *testing.T) {
	step := TemplateStep{Interface: "raid", Step: "apply_configuration", Priority: 90, Args: map[string]any{}}
	for words, templates := range map[string][]DeployTemplate{
		"Matching deploy templates: CUSTOM_A,CUSTOM_B. Errors: deploy steps from all deploy templates matching this node's instance traits cannot have the same interface and step. Duplicate deploy steps for raid.apply_configuration": {
			template("CUSTOM_A", step), template("CUSTOM_B", step),
		},
		"is a core step and cannot be overridden by user steps": {template("CUSTOM_A", TemplateStep{Interface: "deploy", Step: "deploy", Priority: 7})},
		"deploy step bios.tune of node":                         {template("CUSTOM_A", TemplateStep{Interface: "bios", Step: "tune", Priority: 10})},
	} {
		_, err := plan.Steps(KindDeploy, wants("CUSTOM_A", "CUSTOM_B"), nil, plan.Options{Templates: templates})
		require.ErrorContains(t, err, words)
		require.True(t, fault.Is(err, fault.Invalid))
	}
}

func TestReadTemplateSteps(t *testing.T) {
	read := func(b plan.StepBook, text string) ([]TemplateStep, error) {
		return plan.ReadTemplateSteps(b, json.RawMessage(text))
	}
	steps, err := read(plan.DeployTemplate, `[{"interface":"bios","step":"a","args":{"x":1},"priority":"150"}]`)
	require.NoError(t, err)
	require.Equal(t, []TemplateStep{{Interface: "bios", Step: "a", Args: map[string]any{"x": json.Number("1")}, Priority: 150}}, steps)
	steps, err = read(plan.Runbook, `[{"interface":"bios","step":"a","args":{},"order":2}]`)
	require.NoError(t, err)
	require.Equal(t, 2, steps[0].Order)
	for text, words := range map[string]string{
		`{}`: "Schema error for deploy template: steps is not of type 'array'",
		`[]`: "needs at least one step",
		`[{"interface":"bios","step":"a","args":{}}]`:                               "step 0: 'priority' is a required property",
		`[{"interface":"bios","step":"a","args":{},"order":1}]`:                     "step 0: 'priority' is a required property",
		`[{"interface":"nose","step":"a","args":{},"priority":1}]`:                  "step 0: interface \"nose\" is not one of",
		`[{"interface":"bios","step":"a","args":[],"priority":1}]`:                  "step 0: 'args' is not of type 'object'",
		`[{"interface":"bios","step":"a","args":{},"priority":-1}]`:                 "step 0: 'priority' -1 is not an integer",
		`[{"interface":"bios","step":"a","args":{},"priority":1,"abortable":true}]`: "step 0: property 'abortable' was unexpected",
		`[{"interface":"bios","step":"a","args":{},"priority":1},{"interface":"bios","step":"a","args":{},"priority":2}]`: "Deploy template invalid: Duplicate deploy steps. " +
			"A deploy template cannot have multiple deploy steps with the same interface and step. Duplicates: interface: bios, step: a.",
	} {
		_, err := read(plan.DeployTemplate, text)
		require.ErrorContains(t, err, words, text)
	}
}
