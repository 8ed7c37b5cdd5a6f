package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-crypt/crypt/algorithm/shacrypt"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/node"
)

func TestRescueNeedsAPassword(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.In("n1", node.Active)
	for _, password := range []any{nil, "", " \t"} {
		require.Contains(t, b.Put("/v1/nodes/n1/states/provision", map[string]any{"target": "rescue", "rescue_password": password}).Fails(400),
			`A non-empty "rescue_password" is required when setting target provision state to rescue`)
	}
	require.Contains(t, b.Put("/v1/nodes/n1/states/provision", map[string]any{"target": "rescue", "rescue_password": strings.Repeat("x", 256)}).Fails(400), "more than 255")
	require.Contains(t, b.Put("/v1/nodes/n1/states/provision", map[string]any{"target": "deleted", "rescue_password": "x"}).Fails(400), `"rescue_password" is only valid`)
	require.Equal(t, "active", b.Field("n1", "provision_state"))
}

// What is kept of a rescue password is a hash, as a sealed argument of a step.
func TestOfARescuePasswordOnlyASealedHashIsKept(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]func(b *apitest.Bench){
		"Ironic's request": func(b *apitest.Bench) {
			b.Put("/v1/nodes/n1/states/provision", map[string]any{"target": "rescue", "rescue_password": "hunter2"}).Is(202)
		},
		"Temper's request": func(b *apitest.Bench) {
			b.Post("/temper/v1/nodes/n1/operations", map[string]any{"verb": "rescue", "rescue_password": "hunter2"}).Is(202)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := apitest.New(t).WithConductors()
			uuid := b.Enrolled("n1")
			b.Patch("/v1/nodes/n1", apitest.Add("/rescue_interface", "agent")).Is(200)
			b.MoveTo(uuid, node.Active)
			ask(b)
			require.Equal(t, "rescuing", b.Field("n1", "provision_state"))
			op := b.LastOperation("n1")
			require.Equal(t, node.KindRescue, op.Kind)
			require.Equal(t, "******", op.RescuePassword())
			secrets, err := b.Credentials("n1")
			require.NoError(t, err)
			var hash string
			for name, v := range secrets {
				if strings.HasSuffix(name, "/"+node.RescuePassword) {
					hash, _ = v.(string)
				}
			}
			digest, err := shacrypt.Decode(hash)
			require.NoError(t, err)
			require.True(t, digest.Match("hunter2"))
		})
	}
}

// Public keys are arguments of the same step, and only requests of Temper's own API have them.
func TestARescueTakesPublicKeys(t *testing.T) {
	t.Parallel()
	const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIb5FPWZVfrqMPKkxTMVlXDcO0hkTxjt8b7uNrhdG1Mf me@here"
	b := apitest.New(t).WithConductors()
	uuid := b.Enrolled("n1")
	b.Patch("/v1/nodes/n1", apitest.Add("/rescue_interface", "agent")).Is(200)
	b.MoveTo(uuid, node.Active)
	ask := func(keys ...any) map[string]any {
		return map[string]any{"verb": "rescue", "rescue_password": "hunter2", "rescue_ssh_keys": keys}
	}
	require.Contains(t, b.Post("/temper/v1/nodes/n1/operations", ask(key, "ssh-rsa me")).Fails(400), "rescue_ssh_keys[1] is not a public key")
	require.Contains(t, b.Post("/temper/v1/nodes/n1/operations", ask(key+"\n"+key)).Fails(400), "rescue_ssh_keys[0] is not a public key")
	require.Contains(t, b.Post("/temper/v1/nodes/n1/operations", map[string]any{"verb": "deleted", "rescue_ssh_keys": []any{key}}).Fails(400), "rescue_ssh_keys")
	b.Put("/v1/nodes/n1/states/provision", map[string]any{"target": "rescue", "rescue_password": "hunter2", "rescue_ssh_keys": []any{key}}).Fails(400)
	b.Post("/temper/v1/nodes/n1/operations", ask(key, key)).Is(202)
	secrets, err := b.Credentials("n1")
	require.NoError(t, err)
	op := b.LastOperation("n1")
	keys := op.RescueKeys()
	for name, v := range secrets {
		if strings.HasSuffix(name, "/"+node.RescueKeys) {
			keys, _ = v.(string)
		}
	}
	require.Equal(t, key+"\n"+key, keys)
}

// A retry of a rescue whose password is deleted would lock everybody out.
func TestARescueThatHasSucceededIsNotRetried(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	uuid := b.Enrolled("n1")
	b.Patch("/v1/nodes/n1", apitest.Add("/rescue_interface", "agent")).Is(200)
	b.MoveTo(uuid, node.Active)
	b.Put("/v1/nodes/n1/states/provision", map[string]any{"target": "rescue", "rescue_password": "hunter2"}).Is(202)
	op := b.LastOperation("n1")
	b.SQL(`UPDATE operations SET ended_at = now(), outcome = 'failed', phase = 'ended' WHERE id = $1`, op.ID)
	b.SQL(`UPDATE nodes SET provision_state = 'rescue failed' WHERE uuid = $1`, uuid)
	retry := fmt.Sprintf("/temper/v1/operations/%d/retry", op.ID)
	kept := b.Post(retry, map[string]any{}).Is(202)["id"]
	b.SQL(`UPDATE operations SET ended_at = now(), outcome = 'failed', phase = 'ended' WHERE id = $1`, kept)
	b.SQL(`UPDATE nodes SET provision_state = 'rescue failed' WHERE uuid = $1`, uuid)
	b.SQL(`DELETE FROM secrets WHERE starts_with(name, 'operation/')`)
	require.Contains(t, b.Post(retry, map[string]any{}).Fails(400), "are not kept any more")
}
