package secret_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/mask"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/secret"
)

func TestArgumentsThatAStepCallsSecretAreMasked(t *testing.T) {
	node.RegisterHardware(node.HardwareType{Name: t.Name(), Implementations: map[string][]node.Implementation{
		"vendor": {{Name: "test", CleanSteps: []node.StepSpec{{Step: "license", Args: map[string]node.ArgSpec{
			"blob": {Secret: true}, "list": {Secret: true}, "plain": {},
		}}}}},
	}})
	n := &node.Node{UUID: "u", Driver: t.Name(), Interfaces: map[string]string{"vendor": "test"}}
	args := map[string]any{"blob": "s1", "list": []any{"s2", map[string]any{"password": "s3"}}, "plain": "p"}
	steps := []node.Step{{Interface: "deploy", Step: node.StepPrepareCleaning}, {Interface: "vendor", Step: "license", Args: args}}
	masked, secrets := secret.MaskArgs(n, node.KindClean, steps)
	require.Equal(t, map[string]any{"blob": mask.Masked, "list": mask.Masked, "plain": "p"}, masked[1].Args)
	require.Equal(t, args, secret.ClearArgs(masked, 1, secrets))
	require.Equal(t, args, steps[1].Args, "the steps were changed")
}
