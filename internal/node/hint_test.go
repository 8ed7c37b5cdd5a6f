package node_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

func TestARefusalNamesWhatWouldWork(t *testing.T) {
	open := &node.Operation{ID: 12, Kind: node.KindDeploy, Phase: node.Running}
	for name, c := range map[string]struct {
		in   node.State
		op   *node.Operation
		verb string
		want string
	}{
		"held":        {node.Deploying, open, "manage", ` See "temper node why n1"; "temper operation cancel 12" ends it.`},
		"being ended": {node.Deploying, &node.Operation{ID: 12, Asked: node.AskCancel}, "manage", ` See "temper node why n1"; operation 12 is being ended.`},
		"held, and at rest": {
			node.DeployHold, &node.Operation{ID: 12, Phase: node.Holding, Steps: []node.Step{{State: node.StepFailed}}}, "manage",
			` See "temper node why n1"; "temper operation retry 12" or "temper operation abort 12" decides.`,
		},
		"two verbs before": {node.Enroll, nil, "active", ` First: "temper node manage n1", then "temper node provide n1".`},
		"there already":    {node.Active, nil, "active", ` It is active already.`},
		"nowhere near":     {node.Active, nil, "clean", ` That is possible in: manageable.`},
		"no verb":          {node.Active, nil, "explode", ``},
	} {
		t.Run(name, func(t *testing.T) {
			n := &node.Node{UUID: "u", Name: "n1", ProvisionState: c.in, Operation: c.op}
			v := node.VerbOf(c.verb)
			_, refused := node.Admit(n, v, "")
			require.Error(t, refused)
			got := node.Hinted(refused, n, v.Event)
			require.Equal(t, refused.Error()+c.want, got.Error())
			require.Equal(t, fault.KindOf(refused), fault.KindOf(got))
		})
	}
	require.NoError(t, node.Hinted(nil, &node.Node{Operation: open}, ""))
	other := fault.New(fault.Conflict, "Node u is associated with instance i.")
	require.Equal(t, other, node.Hinted(other, &node.Node{Operation: open}, ""), "the operation is not the reason")
}
