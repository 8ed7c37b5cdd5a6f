package system_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"go.temper.dev/temper/internal/sim"
	"go.temper.dev/temper/internal/testenv"
)

// run logs in to the machine as rescue, and returns what a command printed.
func (v *vm) run(command string, with ssh.AuthMethod) string {
	v.t.Helper()
	var client *ssh.Client
	eventually(v.t, patience, func() (err error) { // it says that it listens a moment before it does
		client, err = ssh.Dial("tcp", v.hardware().SSH, &ssh.ClientConfig{
			User: "rescue", Auth: []ssh.AuthMethod{with}, Timeout: time.Minute,
			HostKeyCallback: ssh.InsecureIgnoreHostKey(), //nolint:gosec // a machine of this test
		})
		if err != nil {
			err = fmt.Errorf("%w; it has printed %s", err, v.printed())
		}
		return err
	})
	defer client.Close()
	session, err := client.NewSession()
	require.NoError(v.t, err)
	out, err := session.CombinedOutput(command)
	require.NoError(v.t, err, string(out))
	return string(out)
}

// A person logs in to a rescue with the password and with a key, finds the disk as it was, and the server boots from it again.
func TestARescuedVirtualMachineLetsAPersonIn(t *testing.T) {
	t.Parallel()
	testenv.OnlyInVM(t)
	n := virtual(t, "vm-rescue", builtISO(t, "--flavour", "rescue"), sim.Config{Firmware: sim.BIOS})
	n.patch("rescue_interface", "agent")
	disk := partitioned()
	copy(disk, restarting())
	n.diskImage(disk)
	n.done(n.provision("active", nil), "active")
	n.did("On Off->On", "guest_off On->Off", "On Off->On", "guest_reset On->On")

	public, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	signer, err := ssh.NewSignerFromKey(private)
	require.NoError(t, err)
	key, err := ssh.NewPublicKey(public)
	require.NoError(t, err)
	rescue := n.accepted(n.s.must(t, http.StatusAccepted, http.MethodPost, "/temper/v1/nodes/"+n.uuid+"/operations", map[string]any{
		"verb": "rescue", "rescue_password": "let me in", "rescue_ssh_keys": []any{string(ssh.MarshalAuthorizedKey(key))},
	}))
	n.done(rescue, "rescue")
	n.prints("SSH host key: Fingerprint: ", "the user rescue may log in by SSH")
	require.Contains(t, n.run("id; cat /proc/self/status | head -1; ls /run/temper", ssh.Password("let me in")), "uid=0(rescue)")
	tools := n.run("for p in lvs mdadm smartctl tcpdump ethtool e2fsck xfs_repair efibootmgr nvme; do which $p >/dev/null || echo no $p; done; smartctl --version | head -1; tcpdump --version | head -1; lvs --version | head -1; lsblk -n -o NAME,SIZE", ssh.PublicKeys(signer))
	require.NotContains(t, tools, "no ")
	require.Regexp(t, `(?s)smartctl 7.*tcpdump version 4.*LVM version.*vda +8G`, tools)
	require.Equal(t, "b0fee664", strings.TrimSpace(n.run("dd if=/dev/vda bs=4 count=1 2>/dev/null | hexdump -v -e '/1 \"%02x\"'", ssh.PublicKeys(signer))), "the disk is as it was")

	n.done(n.provision("unrescue", nil), "active")
	n.did("On Off->On", "guest_off On->Off", "On Off->On", "guest_reset On->On")
}
