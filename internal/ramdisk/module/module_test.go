package module

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Some modules as they say of themselves, by name.
var infos = map[string]string{
	"igb":          "firmware=igb.fw\x00alias=pci:v00008086d00001521sv*sd*bc*sc*i*\x00depends=i2c-algo-bit,dca\x00",
	"i2c_algo_bit": "license=GPL\x00depends=\x00",
	"dca":          "depends=\x00",
	"ahci":         "alias=pci:v*d*sv*sd*bc01sc06i01*\x00alias=pci:v00001B4Bd00009230sv*sd*bc*sc*i*\x00depends=libahci\x00",
	"libahci":      "depends=\x00softdep=pre: crc32c\x00",
	"crc32c_intel": "alias=crc32c\x00depends=\x00",
}

func all() []Info {
	var out []Info
	for name, text := range infos {
		info := parseInfo([]byte(text))
		info.Name, info.Path = name, "kernel/"+strings.ReplaceAll(name, "_", "-")+".ko"
		out = append(out, info)
	}
	return out
}

func names(infos []Info) (out []string) {
	for _, info := range infos {
		out = append(out, info.Name)
	}
	return out
}

func TestADeviceFindsItsModules(t *testing.T) {
	s := NewSet(all(), nil)
	require.Equal(t, []string{"igb"}, s.For("pci:v00008086d00001521sv00001028sd00001F60bc02sc00i00"))
	require.Equal(t, []string{"ahci"}, s.For("pci:v00001B4Bd00009230sv00000000sd00000000bc01sc06i01"), "two of its patterns fit")
	require.Empty(t, s.For("pci:v00008086d00009999sv00001028sd00001F60bc02sc00i00"))
}

func TestClosure(t *testing.T) {
	s := NewSet(all(), map[string]bool{"af_packet": true})
	got, err := s.Closure("igb", "af_packet")
	require.NoError(t, err)
	require.Equal(t, []string{"dca", "i2c_algo_bit", "igb"}, names(got))
	got, err = s.Closure("ahci")
	require.NoError(t, err)
	require.Equal(t, []string{"ahci", "crc32c_intel", "libahci"}, names(got), "a soft dependency may be an alias")
	_, err = s.Closure("igb", "nowhere")
	require.ErrorContains(t, err, "the kernel has no module nowhere")

	delete(s.byName, "dca")
	_, err = s.Closure("igb")
	require.ErrorContains(t, err, "no module dca, which igb needs")
}

func TestTheIndexOrdersModules(t *testing.T) {
	dir := t.TempDir()
	for name, content := range IndexFiles(all()) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	x, err := OpenIndex(dir)
	require.NoError(t, err)
	at := func(names ...string) (out []string) {
		for _, n := range names {
			out = append(out, filepath.Join(dir, "kernel", n+".ko"))
		}
		return out
	}
	require.Equal(t, at("i2c-algo-bit", "dca", "igb"), x.Order("pci:v00008086d00001521sv00001028sd00001F60bc02sc00i00"))
	require.Equal(t, at("crc32c-intel", "libahci", "ahci"), x.Order("ahci"))
	require.Equal(t, at("i2c-algo-bit"), x.Order("i2c_algo_bit"))
	require.Empty(t, x.Order("nowhere"))

	_, err = OpenIndex(t.TempDir())
	require.ErrorContains(t, err, "modules.")
}

func TestWhatIsNoModuleIsNamed(t *testing.T) {
	dir := t.TempDir()
	_, err := Read(dir)
	require.ErrorContains(t, err, "no modules")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "broken.ko"), []byte("no ELF"), 0o600))
	_, err = Read(dir)
	require.ErrorContains(t, err, "broken.ko")
}
