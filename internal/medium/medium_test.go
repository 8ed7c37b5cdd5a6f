package medium_test

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/medium"
	"go.temper.dev/temper/internal/medium/mediumtest"
)

var contents = medium.Contents{
	Node: "0b1e1f7e-0000-4000-8000-000000000001", Token: "secret-token", APIURLs: []string{"https://a:6385", "https://b:6385"},
	InspectionURL: "https://a:6385/v1/continue_inspection", Append: "nofb quiet", Network: json.RawMessage(`{"links":[]}`), CA: []byte("-----BEGIN CERTIFICATE-----\n"),
}

func TestAMediumHasWhatItsAgentNeeds(t *testing.T) {
	t.Parallel()
	path := mediumtest.Image(t, "")
	i, err := medium.Open(path)
	require.NoError(t, err)
	defer i.Close()
	m, err := i.For(contents)
	require.NoError(t, err)
	whole, err := io.ReadAll(m)
	require.NoError(t, err)
	require.Equal(t, "ipa-api-url=https://a:6385,https://b:6385\nipa-node-uuid=0b1e1f7e-0000-4000-8000-000000000001\nipa-agent-token=secret-token\n"+
		"ipa-inspection-callback-url=https://a:6385/v1/continue_inspection", mediumtest.File(t, whole, "parameters.txt"))
	for _, loader := range []string{"boot/grub/grub.cfg", "isolinux/isolinux.cfg"} {
		require.Contains(t, mediumtest.File(t, whole, loader), "console=ttyS0 boot_method=vmedia nofb quiet", loader)
		require.NotContains(t, mediumtest.File(t, whole, loader), contents.Token, "the command line is on every console")
	}
	require.JSONEq(t, `{"links":[]}`, mediumtest.File(t, whole, "openstack/latest/network_data.json"))
	require.Equal(t, "-----BEGIN CERTIFICATE-----", mediumtest.File(t, whole, "etc/ironic-python-agent/ironic.crt"))

	// Apart from these files it is the image, however it is read.
	base, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Len(t, whole, len(base))
	differ := 0
	for at := range base {
		if base[at] != whole[at] {
			differ++
		}
	}
	require.Less(t, differ, 1000)
	for _, size := range []int{1, 7, 2048, 5000} {
		for at := 0; at < len(whole); at += size * 13 {
			b := make([]byte, min(size, len(whole)-at))
			_, err := m.ReadAt(b, int64(at))
			require.NoError(t, err)
			require.True(t, bytes.Equal(whole[at:at+len(b)], b), "%d bytes at %d", len(b), at)
		}
	}

	// One without anything has nothing of another one's.
	empty, err := i.For(medium.Contents{Node: "n", Token: "t", APIURLs: []string{"http://c"}})
	require.NoError(t, err)
	other, err := io.ReadAll(empty)
	require.NoError(t, err)
	require.Equal(t, "ipa-api-url=http://c\nipa-node-uuid=n\nipa-agent-token=t", mediumtest.File(t, other, "parameters.txt"))
	require.Empty(t, mediumtest.File(t, other, "openstack/latest/network_data.json"))
	require.Contains(t, mediumtest.File(t, other, "boot/grub/grub.cfg"), "console=ttyS0 boot_method=vmedia\n")
}

func TestWhatHasNoRoomOnAMediumIsNamed(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]medium.Contents{
		"network_data has 40000 bytes, and a medium has room for 32768":                    {Network: bytes.Repeat([]byte(" "), 40_000)},
		"the authorities of certificates has 20000 bytes":                                  {CA: bytes.Repeat([]byte(" "), 20_000)},
		"kernel_append_params has 3000 bytes, and can have 1791":                           {Append: strings.Repeat("a", 3000)},
		"kernel_append_params can't have ';', which the boot loader would read as its own": {Append: "quiet; reboot"},
		"kernel_append_params can't have 'ä'":                                              {Append: "ä"},
	} {
		require.ErrorContains(t, c.Check(), want)
	}
	require.NoError(t, contents.Check())
}

func TestAnImageThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	_, err := medium.Open(filepath.Join(t.TempDir(), "none.iso"))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = medium.Open(mediumtest.Image(t, "etc/ironic-python-agent/ironic.crt"))
	require.ErrorContains(t, err, "etc/ironic-python-agent/ironic.crt: file does not exist; build it with make ramdisk")
	text := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(text, bytes.Repeat([]byte("text "), 20_000), 0o600))
	_, err = medium.Open(text)
	require.ErrorContains(t, err, "it is no image of ISO 9660")
}

func TestTheAddressOfAMediumTellsItsKeyAndNothingElse(t *testing.T) {
	t.Parallel()
	key := medium.Key("a token")
	require.True(t, medium.IsKey(key))
	require.Equal(t, key, medium.Key("a token"))
	require.NotEqual(t, key, medium.Key("another token"))
	url := medium.URL("http://10.0.0.5:6385/", key)
	require.Regexp(t, `^http://10\.0\.0\.5:6385/boot/[a-z2-7]{26}/[a-z2-7]{8}\.iso$`, url)
	for _, other := range []string{"", key[1:], key + "a", strings.ToUpper(key), "../../../../../../../../etc"} {
		require.False(t, medium.IsKey(other), other)
	}
}
