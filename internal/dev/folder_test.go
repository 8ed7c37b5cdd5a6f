package dev

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/dev/devfile"
)

func open(t *testing.T, path string) *folder {
	t.Helper()
	f, err := openFolder(path)
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.close() })
	return f
}

func listener(t *testing.T, address string) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func TestOneStackAtATime(t *testing.T) {
	path := t.TempDir()
	f := open(t, path)
	_, err := openFolder(path)
	require.ErrorContains(t, err, "another temper dev runs in "+path)
	require.NoError(t, f.close())
	open(t, path)
}

func TestAnAddressStays(t *testing.T) {
	path := t.TempDir()
	f := open(t, path)
	requireNew(t, f.listen("api", "127.0.0.1:0"))
	l := listener(t, "127.0.0.1:0")
	had := l.Addr().String()
	require.NoError(t, f.remember("api", had))
	require.Equal(t, had, f.listen("api", "127.0.0.1:0"), "who is started again in this run comes back where it was")
	require.NoError(t, f.close())

	f = open(t, path)
	other := f.listen("api", "127.0.0.1:0")
	require.NotEqual(t, had, other, "somebody else has it now")
	requireNew(t, other)
	require.NoError(t, l.Close())
	require.Equal(t, had, f.listen("api", "127.0.0.1:0"))
	require.Equal(t, "127.0.0.1:7", f.listen("api", "127.0.0.1:7"), "what is wanted comes first")
	another := f.listen("api", "0.0.0.0:0")
	require.True(t, strings.HasPrefix(another, "0.0.0.0:"), "another host is another address: %s", another)
}

// requireNew: nobody listens there, and no outgoing connection is given its port.
func requireNew(t *testing.T, address string) {
	t.Helper()
	require.True(t, isFree(address))
	low, high := outgoingPorts()
	require.NotZero(t, portOf(address))
	require.False(t, low <= portOf(address) && portOf(address) <= high, "%s: outgoing connections have %d to %d", address, low, high)
}

func TestAnAddressThatIsTakenIsGivenUpUnlessOthersKnowIt(t *testing.T) {
	f := open(t, t.TempDir())
	first := f.listen("api", "127.0.0.1:0")
	require.NotEqual(t, first, f.listen("rack", "127.0.0.1:0"), "two that start at the same time")
	require.True(t, f.markTaken(first))
	require.NotEqual(t, first, f.listen("api", "127.0.0.1:0"))
	require.True(t, f.markTaken("127.0.0.1:1"), "one that the child has chosen for itself")

	second := f.listen("api", "127.0.0.1:0")
	require.NoError(t, f.remember("api", second))
	require.False(t, f.markTaken(second), "the other roles were told of it")
	require.Equal(t, "127.0.0.1:7", f.listen("ui", "127.0.0.1:7"))
	require.False(t, f.markTaken("127.0.0.1:7"), "the user wants it")
}

func TestTheKeysAreTheOwnersOnlyAndStay(t *testing.T) {
	f := open(t, t.TempDir())
	require.NoError(t, f.keyset())
	info, err := os.Stat(f.keysetFile())
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	before, err := os.ReadFile(f.keysetFile())
	require.NoError(t, err)
	require.NotEmpty(t, before)
	require.NoError(t, f.keyset())
	after, err := os.ReadFile(f.keysetFile())
	require.NoError(t, err)
	require.Equal(t, before, after)
}

func TestAnOldInfoIsRemoved(t *testing.T) {
	path := t.TempDir()
	f := open(t, path)
	require.NoError(t, devfile.WriteJSON(f.infoFile(), 0o600, devfile.Info{APIURL: "http://old"}))
	require.NoError(t, f.close())
	f = open(t, path)
	_, err := devfile.ReadInfo(f.infoFile())
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestWhetherOthersCanGetIn(t *testing.T) {
	path := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(path), 0o755))
	f := open(t, filepath.Join(path, "data"))
	require.True(t, f.openToOthers())
	require.NoError(t, os.Chmod(path, 0o700))
	require.False(t, f.openToOthers(), "a closed folder above closes it too")
}
