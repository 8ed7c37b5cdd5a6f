package node_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	. "go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/node/nodetest"
)

func TestReservation(t *testing.T) {
	at := func(host string) func(*Node) { return func(n *Node) { n.Operation.Conductor = host } }
	alive := func(host string) bool { return host == "c1" || host == "c2" }
	for name, c := range map[string]struct {
		n     *Node
		owner string
		want  string
	}{
		"a free node has none":                           {nodetest.In(Available), "c1", ""},
		"a free node in an -ing state has none":          {nodetest.In(Cleaning), "c1", ""},
		"the conductor at work":                          {nodetest.In(Deploying, nodetest.Open(KindDeploy), at("c2")), "c1", "c2"},
		"before a conductor has the step: the owner":     {nodetest.In(Deploying, nodetest.Open(KindDeploy)), "c1", "c1"},
		"the conductor died: the owner":                  {nodetest.In(Deploying, nodetest.Open(KindDeploy), at("dead")), "c1", "c1"},
		"no owner: the operation":                        {nodetest.In(Deploying, nodetest.Open(KindDeploy), at("dead")), "", "operation-7"},
		"the owner died too: the operation":              {nodetest.In(Deleting, nodetest.Open(KindUndeploy)), "dead", "operation-7"},
		"waiting for the agent: none":                    {nodetest.In(DeployWait, nodetest.Open(KindDeploy), at("c1")), "c1", ""},
		"holding: none":                                  {nodetest.In(CleanHold, nodetest.Open(KindClean), at("c1")), "c1", ""},
		"failed and undoing: none":                       {nodetest.In(DeployFailed, nodetest.Open(KindDeploy), at("c1")), "c1", ""},
		"a power change in a stable state":               {nodetest.In(Active, nodetest.Open(KindPower), at("c1")), "c2", "c1"},
		"a power change that nobody has begun, no owner": {nodetest.In(Active, nodetest.Open(KindPower)), "", "operation-7"},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, Reservation(c.n, alive, c.owner)) })
	}
}
