package ipmi_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/bmc/bmctest"
	"go.temper.dev/temper/internal/bmc/ipmi"
	"go.temper.dev/temper/internal/dial"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

const nodeID = "1be26c0b-03f2-4d2e-ae87-c02d7f33c781"

// quick are settings for tests.
func quick() ipmi.Config {
	return ipmi.Config{Settings: bmc.Settings{RequestTimeout: 4 * time.Second, Reach: dial.Reach{Loopback: true}}}
}

// attentive are settings with which a console is looked at often: OpenIPMI's simulator does not tell who loses it.
func attentive() ipmi.Config {
	c := quick()
	c.ConsoleIdle = 10 * time.Millisecond
	return c
}

// newDriver returns a driver that the test closes.
func newDriver(t *testing.T, c ipmi.Config) *ipmi.Driver {
	d := ipmi.New(c)
	t.Cleanup(func() { d.Close(t.Context()) })
	return d
}

// open starts a conversation that ends with the test.
func open(t *testing.T, d bmc.Driver, info map[string]any) bmc.Session {
	t.Helper()
	s, err := d.Open(t.Context(), bmc.Target{Node: nodeID, Info: info})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

// hardwareType is the entry of the driver.
func hardwareType() node.HardwareType {
	hw, _ := node.Hardware("ipmi")
	return hw
}

// tool returns the path of a program of Debian. Without it the test is skipped, or fails if
// TEMPER_TEST_REQUIRE is set.
func tool(t *testing.T, name, pkg string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err == nil {
		return path
	}
	if os.Getenv("TEMPER_TEST_REQUIRE") != "" {
		t.Fatalf("%s is not installed (Debian: apt-get install %s)", name, pkg)
	}
	t.Skipf("NOT TESTED: %s is not installed (Debian: apt-get install %s)", name, pkg)
	return ""
}

// openIPMI is a BMC that OpenIPMI's ipmi_sim simulates. It has cipher suite 3, and no valid boot flags.
type openIPMI struct {
	t       *testing.T
	dir     string // where chassis.sh keeps the server
	port    int
	process *os.Process
	lines   []string // further lines of lan.conf
	emu     string   // further lines of sim.emu
}

// events are the entries of the event log: a temperature that is too high and then not, a record of
// somebody's own with a time and one without.
const events = `
sel_add 0x20 0x02 0x00 0x10 0x00 0x60 0x20 0x00 0x04 0x01 0x30 0x01 0x59 0x64 0x60
sel_add 0x20 0x02 0x01 0x10 0x00 0x60 0x20 0x00 0x04 0x01 0x30 0x81 0x59 0x50 0x60
sel_add 0x20 0xc0 0x02 0x10 0x00 0x60 0x01 0x02 0x03 0x04 0x05 0x06 0x07 0x08 0x09
sel_add 0x20 0xe0 0x01 0x02 0x03 0x04 0x05 0x06 0x07 0x08 0x09 0x0a 0x0b 0x0c 0x0d
`

// openIPMIUsers are the accounts: admin may do everything, watcher may read.
const openIPMIUsers = `
  user 2 true "admin" "secret" admin 20 none md2 md5 straight
  user 3 true "watcher" "secret" user 20 none md2 md5 straight
`

// startOpenIPMI starts a simulator. Lines are for the BMC in its lan.conf.
func startOpenIPMI(t *testing.T, lines ...string) *openIPMI {
	t.Helper()
	return startOpenIPMIWith(t, "", lines...)
}

// startOpenIPMIWith starts a simulator with further lines of sim.emu.
func startOpenIPMIWith(t *testing.T, emu string, lines ...string) *openIPMI {
	t.Helper()
	program := tool(t, "ipmi_sim", "openipmi")
	script, err := filepath.Abs("testdata/chassis.sh")
	require.NoError(t, err)
	for range 5 { // another process may take the port
		if o := runOpenIPMI(t, program, script, freePort(t), emu, lines...); o != nil {
			return o
		}
	}
	t.Fatal("ipmi_sim does not start")
	return nil
}

// restart starts a new simulator at the port of one that was killed.
func (o *openIPMI) restart() *openIPMI {
	script, err := filepath.Abs("testdata/chassis.sh")
	require.NoError(o.t, err)
	again := runOpenIPMI(o.t, tool(o.t, "ipmi_sim", "openipmi"), script, o.port, o.emu, o.lines...)
	require.NotNil(o.t, again)
	return again
}

// runOpenIPMI returns nil if the simulator ends at once.
func runOpenIPMI(t *testing.T, program, script string, port int, emu string, lines ...string) *openIPMI {
	o := &openIPMI{t: t, dir: t.TempDir(), port: port, lines: lines, emu: emu}
	o.server(o.dir)
	o.server(o.behind())
	o.write("lan.conf", fmt.Sprintf(`
name "temper"
set_working_mc 0x20
  startlan 1
    addr 127.0.0.1 %[1]d
    priv_limit admin
    allowed_auths_user none md2 md5 straight
    allowed_auths_operator none md2 md5 straight
    allowed_auths_admin none md2 md5 straight
    guid a123456789abcdefa123456789abcdef
  endlan
  chassis_control "%[2]s %[3]s"
%[6]s
%[5]s
set_working_mc 0x30
  chassis_control "%[2]s %[4]s"
`, o.port, script, o.dir, o.behind(), openIPMIUsers, strings.Join(lines, "\n")))
	o.write("sim.emu", "mc_setbmc 0x20\nmc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02\nsel_enable 0x20 1000 0x0a\nmc_enable 0x20\n"+events+
		"mc_add 0x30 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02\nmc_enable 0x30\n"+emu)
	cmd := exec.Command(program, "-n", "-c", filepath.Join(o.dir, "lan.conf"), "-f", filepath.Join(o.dir, "sim.emu"), "-s", filepath.Join(o.dir, "state"))
	require.NoError(t, os.MkdirAll(filepath.Join(o.dir, "state"), 0o700))
	require.NoError(t, cmd.Start())
	o.process = cmd.Process
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	if !o.answers(ended) {
		return nil
	}
	return o
}

// behind is where chassis.sh keeps the server of the controller behind the BMC, at 0x30 on channel 0.
func (o *openIPMI) behind() string { return filepath.Join(o.dir, "behind") }

// server makes a server that is off.
func (o *openIPMI) server(dir string) {
	require.NoError(o.t, os.MkdirAll(dir, 0o700))
	for name, value := range map[string]string{"power": "0\n", "boot": "none\n", "reset": "0\n", "set": ""} {
		require.NoError(o.t, os.WriteFile(filepath.Join(dir, name), []byte(value), 0o600))
	}
}

func (o *openIPMI) write(name, text string) {
	require.NoError(o.t, os.WriteFile(filepath.Join(o.dir, name), []byte(text), 0o600))
}

// answers waits until the simulator answers an ASF presence ping.
func (o *openIPMI) answers(ended <-chan struct{}) bool {
	ping := []byte{6, 0, 0xff, 6, 0, 0, 0x11, 0xbe, 0x80, 1, 0, 0}
	for {
		select {
		case <-ended:
			return false
		case <-o.t.Context().Done():
			return false
		default:
		}
		conn, err := net.Dial("udp", fmt.Sprintf("127.0.0.1:%d", o.port))
		require.NoError(o.t, err)
		_, _ = conn.Write(ping)
		require.NoError(o.t, conn.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
		answer := make([]byte, 100)
		n, _ := conn.Read(answer)
		_ = conn.Close()
		if n > 8 && answer[8] == 0x40 { // a pong; a socket that got the free port itself would hear its own ping
			return true
		}
	}
}

func freePort(t *testing.T) int {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	defer conn.Close()
	return conn.LocalAddr().(*net.UDPAddr).Port
}

// info is the driver_info. Without the timeout of the boot flags each write is one command.
func (o *openIPMI) info(more map[string]any) map[string]any {
	info := map[string]any{
		"ipmi_address": "127.0.0.1", "ipmi_port": float64(o.port), "ipmi_username": "admin", "ipmi_password": "secret",
		"ipmi_disable_boot_timeout": false,
	}
	for k, v := range more {
		info[k] = v
	}
	return info
}

// changes are what the server was told, in order.
func (o *openIPMI) changes() []string { return o.changesIn(o.dir) }

func (o *openIPMI) changesIn(dir string) []string {
	text, err := os.ReadFile(filepath.Join(dir, "set"))
	require.NoError(o.t, err)
	return strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' })
}

// hang stops the simulator as a whole; what is sent to it waits.
func (o *openIPMI) hang() (release func()) {
	require.NoError(o.t, o.process.Signal(syscall.SIGSTOP))
	return func() { require.NoError(o.t, o.process.Signal(syscall.SIGCONT)) }
}

func TestConformanceWithOpenIPMI(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]map[string]any{
		"suite that both have": nil,
		"cipher suite 3":       {"ipmi_cipher_suite": "3", "ipmi_priv_level": "operator", "ipmi_protocol_version": "2.0"},
	} {
		t.Run(name, func(t *testing.T) {
			bmctest.Suite(t, func(t *testing.T) bmctest.Rig {
				o := startOpenIPMI(t, serialPort(t))
				return bmctest.Rig{
					Type: hardwareType(), Driver: ipmi.New(attentive()), Target: bmc.Target{Node: nodeID, Info: o.info(more)},
					Lacks:   []bmctest.Capability{bmctest.BootReadBack},
					Changes: func() int { return len(o.changes()) },
					Hang:    o.hang,
					BadInfo: map[string]any{"ipmi_address": "bmc:623"},
				}
			})
		})
	}
}

func TestTheServerIsToldWhatWasAsked(t *testing.T) {
	t.Parallel()
	o := startOpenIPMI(t)
	s := open(t, newDriver(t, quick()), o.info(map[string]any{"ipmi_disable_boot_timeout": true}))
	ctx := t.Context()
	require.NoError(t, s.RequestPower(ctx, bmc.RequestOn))
	require.NoError(t, s.Restart(ctx))
	require.NoError(t, s.RequestPower(ctx, bmc.RequestSoftOff))
	require.NoError(t, s.RequestPower(ctx, bmc.RequestForceOff))
	for _, d := range []bmc.Device{bmc.DevicePXE, bmc.DeviceDisk, bmc.DeviceCDROM, bmc.DeviceBIOS, bmc.DeviceNone} {
		require.NoError(t, s.SetBoot(ctx, bmc.Boot{Device: d}), "%s", d)
	}
	require.Equal(t, []string{
		"power 1", "reset 1", "shutdown 1", "power 0",
		"boot pxe", "boot default", "boot cdrom", "boot bios", "boot none",
	}, o.changes())
}

func TestAWrongPasswordIsTriedOnce(t *testing.T) {
	t.Parallel()
	o := startOpenIPMI(t)
	d := newDriver(t, quick())
	for name, more := range map[string]map[string]any{
		"password": {"ipmi_password": "wrong"}, "account": {"ipmi_username": "nobody"},
		"key": {"ipmi_hex_kg_key": strings.Repeat("ab", 20)},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := open(t, d, o.info(more)).Power(t.Context())
			require.Equal(t, fault.Denied, fault.KindOf(err), "%v", err)
			require.Equal(t, fault.BMCWrongPassword, fault.CodeOf(err))
			release := o.hang()
			_, err = open(t, d, o.info(more)).Power(t.Context())
			release()
			require.Equal(t, fault.Denied, fault.KindOf(err), "it is remembered, and nothing is sent: %v", err)
			require.ErrorContains(t, err, "not tried again before")
		})
	}
	_, err := open(t, d, o.info(nil)).Power(t.Context())
	require.NoError(t, err, "the right password is not blocked")
}

func TestASessionWithoutPrivilege(t *testing.T) {
	t.Parallel()
	o := startOpenIPMI(t)
	s := open(t, newDriver(t, quick()), o.info(map[string]any{"ipmi_username": "watcher", "ipmi_priv_level": "USER"}))
	p, err := s.Power(t.Context())
	require.NoError(t, err)
	require.Equal(t, bmc.PowerOff, p)
	err = s.RequestPower(t.Context(), bmc.RequestOn)
	require.Equal(t, fault.Refused, fault.KindOf(err), "%v", err)
	require.ErrorContains(t, err, "ipmi_priv_level")
}

func TestACipherSuiteThatTheBMCLacks(t *testing.T) {
	t.Parallel()
	o := startOpenIPMI(t)
	_, err := open(t, newDriver(t, quick()), o.info(map[string]any{"ipmi_cipher_suite": 17.0})).Power(t.Context())
	require.Equal(t, fault.Refused, fault.KindOf(err), "%v", err)
	require.ErrorContains(t, err, "cipher suite 17")
}

func TestABMCThatHasRestartedIsLoggedInToAgain(t *testing.T) {
	t.Parallel()
	o := startOpenIPMI(t)
	s := open(t, newDriver(t, quick()), o.info(nil))
	require.NoError(t, s.RequestPower(t.Context(), bmc.RequestOn))
	require.NoError(t, o.process.Kill())
	require.Eventually(t, func() bool {
		_, err := s.Power(t.Context())
		return fault.Is(err, fault.Unreachable)
	}, 10*time.Second, time.Millisecond)

	again := o.restart()
	p, err := s.Power(t.Context())
	require.NoError(t, err)
	require.Equal(t, bmc.PowerOff, p)
	require.NoError(t, s.Restart(t.Context()))
	require.Equal(t, []string{"reset 1"}, again.changes())
}

func TestACommandReachesTheControllerBehindABMC(t *testing.T) {
	t.Parallel()
	o := startOpenIPMI(t)
	d := newDriver(t, quick())
	s := open(t, d, o.info(map[string]any{"ipmi_bridging": "single", "ipmi_target_channel": 0.0, "ipmi_target_address": "0x30"}))
	require.NoError(t, s.RequestPower(t.Context(), bmc.RequestOn))
	p, err := s.Power(t.Context())
	require.NoError(t, err)
	require.Equal(t, bmc.PowerOn, p)
	require.NoError(t, s.Restart(t.Context()))
	require.NoError(t, s.SetBoot(t.Context(), bmc.Boot{Device: bmc.DevicePXE}))
	require.Equal(t, []string{"power 1", "reset 1", "boot pxe"}, o.changesIn(o.behind()))

	p, err = open(t, d, o.info(nil)).Power(t.Context())
	require.NoError(t, err)
	require.Equal(t, bmc.PowerOff, p, "the BMC's own server")
	require.Empty(t, o.changes())

	_, err = open(t, d, o.info(map[string]any{"ipmi_bridging": "single", "ipmi_target_channel": "0", "ipmi_target_address": "0x72"})).Power(t.Context())
	require.Equal(t, fault.Unreachable, fault.KindOf(err), "nothing is there: %v", err)
}

func TestTheEventLogIsRead(t *testing.T) {
	t.Parallel()
	o := startOpenIPMI(t)
	s := open(t, newDriver(t, quick()), o.info(nil))
	events, err := s.Events(t.Context(), 100)
	require.NoError(t, err)
	all := events.List
	require.Len(t, all, 4)
	require.Equal(t, "Temperature 0x30", all[0].Sensor)
	require.Contains(t, all[0].Text, "Upper Critical")
	require.True(t, all[0].Asserted)
	require.False(t, all[1].Asserted)
	require.Equal(t, all[0].Sensor, all[1].Sensor)
	require.Equal(t, "OEM record 0xc0", all[2].Sensor)
	require.Equal(t, "OEM record 0xe0", all[3].Sensor)
	require.True(t, all[3].At.IsZero())
	two, err := s.Events(t.Context(), 2)
	require.NoError(t, err)
	require.Equal(t, all[2:], two.List, "the newest")

	list, err := exec.Command(tool(t, "ipmitool", "ipmitool"), "-I", "lanplus", "-H", "127.0.0.1", "-p", strconv.Itoa(o.port),
		"-U", "admin", "-P", "secret", "-C", "3", "sel", "list").CombinedOutput()
	require.NoError(t, err, "%s", list)
	require.Equal(t, 4, strings.Count(string(list), "\n"), "%s", list)
	for _, want := range []string{"Temperature #0x30 | Upper Critical going high | Asserted", "Upper Critical going high | Deasserted"} {
		require.Contains(t, string(list), want)
	}
}
