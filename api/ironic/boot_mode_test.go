package ironic_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

const (
	bootModePath   = "/v1/nodes/n1/states/boot_mode"
	secureBootPath = "/v1/nodes/n1/states/secure_boot"
)

// asked returns the step of the open operation of the only node.
func asked(t *testing.T, b *apitest.Bench, k node.OperationKind) node.Step {
	t.Helper()
	n, err := b.Store.Node(t.Context(), "n1")
	require.NoError(t, err)
	require.NotNil(t, n.Operation)
	require.Equal(t, k, n.Operation.Kind)
	require.Len(t, n.Operation.Steps, 1)
	return n.Operation.Steps[0]
}

func TestTheBootModeIsSetByAnOperation(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.Enrolled("n1")
	b.At(76, "PUT", bootModePath, map[string]any{"target": "bios"}).Is(202)
	s := asked(t, b, node.KindBootMode)
	require.Equal(t, "management.set_boot_mode", s.Name())
	require.Equal(t, map[string]any{"target": "bios"}, s.Args)
	require.Contains(t, b.Put(secureBootPath, map[string]any{"target": true}).Fails(409), "is locked by host")
}

func TestSecureBootIsSwitchedByAnOperation(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.Enrolled("n1")
	b.At(76, "PUT", secureBootPath, map[string]any{"target": "true"}).Is(202)
	require.Equal(t, map[string]any{"target": true}, asked(t, b, node.KindSecureBoot).Args)
}

func TestBootModesThatAreRefused(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.Post("/v1/nodes", map[string]any{"driver": "fake-hardware", "name": "n1", "management_interface": "noop"}).Is(201)
	require.Contains(t, b.Put(bootModePath, map[string]any{"target": "uefi"}).Fails(400), "does not support management (disabled or not implemented)")
	b.At(75, "PUT", bootModePath, map[string]any{"target": "uefi"}).Fails(404)
	b.At(75, "PUT", secureBootPath, map[string]any{"target": true}).Fails(404)
	require.Contains(t, b.Put(bootModePath, map[string]any{"target": "x"}).Fails(400), "Invalid boot mode x")
	b.Put(bootModePath, map[string]any{}).Fails(400)
	b.Put(secureBootPath, map[string]any{}).Fails(400)
	require.Contains(t, b.Put(secureBootPath, map[string]any{"target": "x"}).Fails(400), "Invalid target")
}

// The request was answered before, so the node says why it failed.
func TestABootModeThatIsRefusedIsTheLastErrorOfItsNode(t *testing.T) {
	t.Parallel()
	b := managed(t, node.End{Outcome: node.Failed, Error: "no such mode", Cause: fault.BootModeRefused})
	b.Put(bootModePath, map[string]any{"target": "bios"}).Is(202)
	o := b.LastOperation("n1")
	_, err := b.Store.CloseOperation(t.Context(), node.End{Operation: o.ID, Outcome: node.Failed, Error: "no such mode", Cause: fault.BootModeRefused})
	require.NoError(t, err)
	require.Equal(t, "no such mode", b.Field("n1", "last_error"))
	b.Put(bootModePath, map[string]any{"target": "uefi"}).Is(202)
	_, err = b.Store.CloseOperation(t.Context(), node.End{Operation: b.LastOperation("n1").ID, Outcome: node.Succeeded})
	require.NoError(t, err)
	require.Nil(t, b.Get("/v1/nodes/n1").Is(200)["last_error"], "a request that succeeds clears it")
}
