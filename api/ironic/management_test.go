package ironic_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

const bootDevice, nmi = "/v1/nodes/n1/management/boot_device", "/v1/nodes/n1/management/inject_nmi"

// managed is a bench with a redfish node n1 in state active, whose operations end as end says.
func managed(t *testing.T, end node.End) *apitest.Bench {
	b := apitest.New(t, func(c *api.Config) { c.AnswerWithin = 50 * time.Millisecond }).WithConductors()
	b.Post("/v1/nodes", map[string]any{"driver": "redfish", "name": "n1", "driver_info": map[string]any{"redfish_address": "https://bmc"}}).Is(201)
	b.SQL(`UPDATE nodes SET provision_state = 'active', last_error = 'of before'`)
	b.Operations.OnAwait = func(o *node.Operation) {
		end.Operation = o.ID
		_, err := b.Store.CloseOperation(t.Context(), end)
		require.NoError(t, err)
	}
	return b
}

func TestTheBootDeviceIsSetWhenTheAnswerComes(t *testing.T) {
	t.Parallel()
	b := managed(t, node.End{Outcome: node.Succeeded})
	for _, persistent := range []bool{false, true} {
		a := b.Put(bootDevice, map[string]any{"boot_device": "pxe", "persistent": persistent})
		a.Is(204)
		o := b.LastOperation("n1")
		require.Equal(t, []any{node.KindBootDevice, node.Succeeded}, []any{o.Kind, o.Outcome})
		require.Equal(t, node.BootDevice{Device: "pxe", Persistent: persistent}, o.Steps[0].BootDevice())
	}
	b.Put(bootDevice, map[string]any{"boot_device": "disk"}).Is(204)
	require.Equal(t, node.BootDevice{Device: "disk"}, b.LastOperation("n1").Steps[0].BootDevice())
	require.Equal(t, "of before", b.Field("n1", "last_error"), "it is not about the boot device")

	require.Equal(t, "Invalid boot device toaster specified.", b.Put(bootDevice, map[string]any{"boot_device": "toaster"}).Fails(400))
	require.Contains(t, b.Put(bootDevice, map[string]any{"persistent": true}).Fails(400), "Missing mandatory parameter: boot_device")
	b.Put(bootDevice, map[string]any{"boot_device": "pxe", "persistent": "now and then"}).Fails(400)
	require.Len(t, b.Operations.Started(), 3)
}

func TestAnNMIIsInjectedFrom29On(t *testing.T) {
	t.Parallel()
	b := managed(t, node.End{Outcome: node.Succeeded})
	b.At(28, "PUT", nmi, map[string]any{}).Fails(404)
	b.At(29, "PUT", nmi, map[string]any{}).Is(204)
	require.Equal(t, node.KindNMI, b.LastOperation("n1").Kind)
}

// Somebody may have switched the server on since its power was read.
func TestAnNMIDoesNotDependOnThePowerThatWasReadLast(t *testing.T) {
	t.Parallel()
	b := managed(t, node.End{Outcome: node.Succeeded})
	b.SQL(`UPDATE nodes SET power_state = 'power off', power_read_at = '2026-01-02 03:04:05Z'`)
	b.Put(nmi, map[string]any{}).Is(204)
	require.Len(t, b.Operations.Started(), 1)
}

func TestAnNMIOfAServerThatIsOffSaysHowToSwitchItOn(t *testing.T) {
	t.Parallel()
	b := managed(t, node.End{Outcome: node.Failed, Error: "this one is off", Cause: fault.ValidationFailed})
	b.SQL(`UPDATE nodes SET power_state = 'power off'`)
	a := b.Put(nmi, map[string]any{})
	require.Equal(t, []string{"temper node why n1 says what happens to it", "temper node power on n1 switches it on"}, a.Refused(400).Commands())
}

func TestTheManagementInterfaceWorksInMaintenance(t *testing.T) {
	t.Parallel()
	b := managed(t, node.End{Outcome: node.Succeeded})
	b.Put("/v1/nodes/n1/maintenance", map[string]any{"reason": "looking"}).Is(202)
	b.Put(bootDevice, map[string]any{"boot_device": "pxe"}).Is(204)
	b.Put(nmi, map[string]any{}).Is(204)
}

func TestWhatTheBMCSaysIsTold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end    node.End
		status int
	}{
		"a device that the server lacks":  {node.End{Outcome: node.Failed, Error: "only from disk", Cause: fault.BootDeviceRefused}, 400},
		"a server that is off":            {node.End{Outcome: node.Failed, Error: "it is off", Cause: fault.ValidationFailed}, 400},
		"a BMC that does not answer":      {node.End{Outcome: node.Failed, Error: "no answer", Cause: fault.BMCSilent}, 504},
		"an NMI that may have been sent":  {node.End{Outcome: node.Failed, Error: "its outcome is unknown", Cause: fault.UnknownOutcome}, 500},
		"an operation that somebody ends": {node.End{Outcome: node.Cancelled, Error: "enough", Cause: fault.CancelledByPerson}, 500},
	} {
		t.Run(name, func(t *testing.T) {
			b := managed(t, c.end)
			a := b.Put(nmi, map[string]any{})
			require.Equal(t, c.end.Cause, a.Refused(c.status).Code)
			require.Contains(t, a.Fails(c.status), c.end.Error)
			require.Equal(t, "of before", b.Field("n1", "last_error"))
		})
	}
}

func TestAnOperationThatLastsIsNamed(t *testing.T) {
	t.Parallel()
	b := managed(t, node.End{})
	b.Operations.OnAwait = nil
	a := b.Put(bootDevice, map[string]any{"boot_device": "pxe"})
	require.Equal(t, fault.OperationNotEnded, a.Refused(500).Code)
	require.Contains(t, a.Fails(500), "goes on")
	uuid := b.Field("n1", "uuid").(string)
	require.Contains(t, b.Put(nmi, map[string]any{}).Fails(409), "Node "+uuid+" is locked by host")
	require.Len(t, b.Operations.Started(), 1)
}

func TestTheBootDeviceIsReadFromTheBMC(t *testing.T) {
	t.Parallel()
	b := managed(t, node.End{})
	require.Equal(t, map[string]any{"boot_device": nil, "persistent": nil}, b.Get(bootDevice).Is(200))
	b.Operations.Reading = node.BMCReading{BootDevice: node.BootDevice{Device: "cdrom"}, BootDevices: []string{"pxe", "disk"}}
	require.Equal(t, map[string]any{"boot_device": "cdrom", "persistent": false}, b.Get(bootDevice).Is(200))
	require.Equal(t, map[string]any{"supported_boot_devices": []any{"pxe", "disk"}}, b.Get(bootDevice+"/supported").Is(200))
	require.Equal(t, []string{"read boot device of n1", "read boot device of n1", "read supported boot devices of n1"}, b.Operations.Told())
	require.Empty(t, b.Operations.Started(), "a reading is no operation")

	b.SQL(`UPDATE nodes SET provision_state = 'deploying'`)
	b.Get(bootDevice).Is(200)
	b.Operations.ReadErr = fault.Coded(fault.BMCSilent, "no answer from the BMC")
	a := b.Get(bootDevice)
	require.Equal(t, fault.BMCSilent, a.Refused(504).Code)
	require.Contains(t, a.Fails(504), "no answer from the BMC")
	require.Equal(t, []string{
		"temper node why n1 says what happens to it", "temper bmc probe https://bmc --username USERNAME asks the BMC directly, from this machine, and for its password: in a script add --password-file FILE or set TEMPER_BMC_PASSWORD",
		"temper node set n1 --driver-info redfish_address=ADDRESS --driver-info redfish_password=- sets the right address, and asks for the password",
	}, a.Refused(504).Commands())
	b.Operations.ReadErr = fault.Coded(fault.TemporalUnavailable, "gone")
	b.Get(bootDevice).Refused(503)
	b.Kill("c1", "c2")
	b.Get(bootDevice).Fails(503)
	b.Get("/v1/nodes/nobody/management/boot_device").Fails(404)
}

func TestADriverWithoutIt(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.Enrolled("n1")
	require.Equal(t, "Driver fake-hardware does not support inject_nmi (disabled or not implemented).", b.Put(nmi, map[string]any{}).Fails(400))
	b.Post("/v1/nodes", map[string]any{"driver": "fake-hardware", "name": "n2", "management_interface": "noop"}).Is(201)
	const management = "Driver fake-hardware does not support management (disabled or not implemented)."
	for _, path := range []string{"", "/supported"} {
		require.Equal(t, management, b.Get("/v1/nodes/n2/management/boot_device"+path).Fails(400))
	}
	require.Equal(t, management, b.Put("/v1/nodes/n2/management/boot_device", map[string]any{"boot_device": "pxe"}).Fails(400))
	require.Empty(t, b.Operations.Told())
}

// A client that waits for a BMC which gives no answer is told since when, and that the operation goes on. It is no fault of Temper.
func TestASilentBMCIsNoFaultOfTemper(t *testing.T) {
	t.Parallel()
	b := managed(t, node.End{})
	b.Operations.OnAwait = func(o *node.Operation) {
		b.SQL(`UPDATE operations SET phase = 'running', begun_at = now(), run_id = 'r', steps = jsonb_set(steps, '{0,state}', '"running"'), step_wait = '{
			"for": "bmc_answer", "since": "2030-01-02T03:04:05Z", "until": "2030-01-02T03:14:05Z", "unread": "no answer in time.", "unread_since": "2030-01-02T03:04:05Z"}'`)
	}
	a := b.Put(bootDevice, map[string]any{"boot_device": "pxe"})
	require.Equal(t, fault.BMCSilent, a.Refused(504).Code)
	uuid := b.Field("n1", "uuid").(string)
	require.Equal(t, "The BMC of node "+uuid+" has given no answer since 2030-01-02 03:04:05Z (no answer in time). "+
		"Operation 1 (boot_device) has not ended yet, and asks it again until 2030-01-02 03:14:05Z.", a.Fails(504))
}
