package system_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/dev"
	"go.temper.dev/temper/internal/medium/mediumtest"
	"go.temper.dev/temper/internal/sim"
)

// Temper fetches an image for the agents once. It is killed in the middle of the download and comes back, and both deploys go on. Then
// one comes from a file of its machine, and one that differs from its digest is not served.
func TestAgentsGetTheirImageFromTemper(t *testing.T) {
	t.Parallel()
	s := world(t)
	at := freeAddress(t)
	folder, cache := t.TempDir(), t.TempDir()
	env := []string{"TEMPER_RAMDISK=" + mediumtest.Image(t, ""), "TEMPER_IMAGE_CACHE=" + cache, "TEMPER_IMAGE_FOLDERS=" + folder}
	boot := func(name string) *dev.Running { return s.role(t, "boot", name, env, "--listen", at) }
	victim := boot("local-image-1")
	s.conductorWith(t, "ipmi", "local", "local-1", "TEMPER_AGENT_URL=http://"+at)
	r := ownRack(t, s.APIURL, sim.Config{Servers: 2, IPMI: true, PXE: true})
	gate := make(chan struct{})
	l := newLibrary(t, gate)
	nodes, deploys := []*node{byIPMI(t, s, r, "local"), byIPMI(t, s, r, "local")}, []string{}
	for _, n := range nodes {
		n.image(l.url+"/slow.raw", l.sha256)
		n.patch("instance_info/image_download_source", "local")
		deploys = append(deploys, n.provision("active", nil))
	}
	for _, n := range nodes {
		eventually(t, patience, func() error { return n.tells("Temper fetches the image", "of 1.05 MB") })
	}
	require.Equal(t, 1, l.got("/slow.raw"))
	require.NoError(t, syscall.Kill(victim.Pid(), syscall.SIGKILL))
	close(gate)
	boot("local-image-2")
	for i, n := range nodes {
		n.deployed(deploys[i], l.sha256)
	}
	require.Equal(t, 1, l.got("/slow.raw"), "the second temper boot asks for the rest only")

	require.NoError(t, os.WriteFile(filepath.Join(folder, "disk.raw"), body, 0o600))
	n := nodes[0]
	n.done(n.provision("deleted", nil), "available")
	n.image("file://"+folder+"/disk.raw", l.sha256)
	n.deployed(n.provision("active", nil), l.sha256)
	n.done(n.provision("deleted", nil), "available")
	n.image("file://"+folder+"/disk.raw", strings.Repeat("ab", 32))
	n.deployFailed(n.provision("active", nil), "the sha256 digest of the image's 1048576 bytes is "+l.sha256+" and not abab")
}

// freeAddress is an address on loopback on which nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a test
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	return l.Addr().String()
}

// tells is nil if the words that say why the node is not done contain all of these.
func (n *node) tells(words ...string) error {
	var why struct{ Text string }
	if err := n.s.read("/temper/v1/nodes/"+n.uuid+"/why", &why); err != nil {
		return err
	}
	for _, w := range words {
		if !strings.Contains(why.Text, w) {
			return errors.New(why.Text)
		}
	}
	return nil
}
