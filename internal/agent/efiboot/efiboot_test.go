//go:build linux

package efiboot_test

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/agent/efiboot"
)

const global = "-8be4df61-93ca-11d2-aa0d-00e098032b8c"

func variable(t *testing.T, folder, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(folder, name+global))
	require.NoError(t, err)
	require.Equal(t, []byte{7, 0, 0, 0}, b[:4])
	return hex.EncodeToString(b[4:])
}

func put(t *testing.T, folder, name, content string) {
	t.Helper()
	b, err := hex.DecodeString("07000000" + content)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, name+global), b, 0o600))
}

// expected is an option for a machine with an amd64, field by field: EFI_LOAD_OPTION, a hard drive, a file, the end.
const expected = "01000000" + "5e00" + "540065006d007000650072000000" +
	"04012a00" + "0f000000" + "0008000000000000" + "00f8020000000000" + "33221100554477668899aabbccddeeff" + "0202" +
	"04043000" + "5c004500460049005c0042004f004f0054005c0042004f004f0054005800360034002e004500460049000000" + "7fff0400"

var esp = efiboot.Partition{Number: 15, Start: 2048, Sectors: 194560, GUID: uuid.MustParse("00112233-4455-6677-8899-aabbccddeeff")}

func TestTheFirstOptionStartsTheImage(t *testing.T) {
	folder := t.TempDir()
	removed, err := efiboot.Set(folder, esp)
	require.NoError(t, err)
	require.Empty(t, removed)
	require.Equal(t, "0000", variable(t, folder, "BootOrder"))
	first := variable(t, folder, "Boot0000")
	if runtime.GOARCH == "amd64" {
		require.Equal(t, expected, first)
	}

	// Others stay, ours and those of the same partition go, and what can't be read is not touched.
	put(t, folder, "Boot0001", "01000000"+"0400"+"4f0053000000"+"7fff0400")
	stale := "01000000" + first[8:12] + "4f006c0064000000" + first[len("01000000")+4+28:]
	put(t, folder, "Boot0002", stale)
	put(t, folder, "Boot0003", "0100")
	put(t, folder, "BootOrder", "0200"+"0100"+"0000"+"0300")
	removed, err = efiboot.Set(folder, esp)
	require.NoError(t, err)
	require.Equal(t, []string{"Temper", "Old"}, removed)
	require.Equal(t, "0000"+"0100"+"0300", variable(t, folder, "BootOrder"))
	require.Equal(t, first, variable(t, folder, "Boot0000"))
	require.NoFileExists(t, filepath.Join(folder, "Boot0002"+global))
	require.FileExists(t, filepath.Join(folder, "Boot0003"+global))
}

func TestAFolderThatIsNotThereIsAnError(t *testing.T) {
	_, err := efiboot.Set(filepath.Join(t.TempDir(), "none"), esp)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestEachDiskOfAnArrayIsStartedInTurn(t *testing.T) {
	folder := t.TempDir()
	other := esp
	other.GUID = uuid.New()
	for range 2 { // the second time it replaces those of the first
		_, err := efiboot.Set(folder, esp, other)
		require.NoError(t, err)
		require.Equal(t, "0000"+"0100", variable(t, folder, "BootOrder"))
	}
	require.NotEqual(t, variable(t, folder, "Boot0000"), variable(t, folder, "Boot0001"))
}
