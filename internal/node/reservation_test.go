package node_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	. "go.temper.dev/temper/internal/node"
)

func TestReservation(t *testing.T) {
	at := func(host string) func(*Node) { return func(n *Node) { n.Operation.Conductor = host } }
	alive := func(host string) bool { return host == "c1" || host == "c2" }
	for name, c := range map[string]struct {
		n     *Node
		owner string
		want  string
	}{
		"a free node has none":                           {in(Available), "c1", ""},
		"a free node in an -ing state has none":          {in(Cleaning), "c1", ""},
		"the conductor at work":                          {in(Deploying, open(KindDeploy), at("c2")), "c1", "c2"},
		"before a conductor has the step: the owner":     {in(Deploying, open(KindDeploy)), "c1", "c1"},
		"the conductor died: the owner":                  {in(Deploying, open(KindDeploy), at("dead")), "c1", "c1"},
		"no owner: the operation":                        {in(Deploying, open(KindDeploy), at("dead")), "", "operation-7"},
		"the owner died too: the operation":              {in(Deleting, open(KindUndeploy)), "dead", "operation-7"},
		"waiting for the agent: none":                    {in(DeployWait, open(KindDeploy), at("c1")), "c1", ""},
		"holding: none":                                  {in(CleanHold, open(KindClean), at("c1")), "c1", ""},
		"failed and undoing: none":                       {in(DeployFailed, open(KindDeploy), at("c1")), "c1", ""},
		"a power change in a stable state":               {in(Active, open(KindPower), at("c1")), "c2", "c1"},
		"a power change that nobody has begun, no owner": {in(Active, open(KindPower)), "", "operation-7"},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, Reservation(c.n, alive, c.owner)) })
	}
}
