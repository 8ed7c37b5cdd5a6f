package worker

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/dial"
	"go.temper.dev/temper/internal/fault"
)

func TestAnImageOfFirmwareIsFetchedAndChecked(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("/image", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("firmware")) })
	mux.HandleFunc("/endless", func(w http.ResponseWriter, _ *http.Request) {
		for range 100 {
			_, _ = w.Write(make([]byte, 1024))
		}
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	fetch := fetchFirmware(dial.Reach{Loopback: true}, 64<<10)
	short, long := sha256.Sum256([]byte("firmware")), sha512.Sum512([]byte("firmware"))
	for _, checksum := range []string{"", hex.EncodeToString(short[:]), hex.EncodeToString(long[:])} {
		f, err := fetch(t.Context(), s.URL+"/image", checksum)
		require.NoError(t, err)
		require.EqualValues(t, 8, f.Size())
		for range 2 {
			_, err = f.Seek(0, io.SeekStart)
			require.NoError(t, err)
			got, err := io.ReadAll(f)
			require.NoError(t, err)
			require.Equal(t, "firmware", string(got))
		}
		require.NoError(t, f.Close())
	}
	for path, c := range map[string]struct {
		checksum string
		code     fault.Code
		words    string
	}{
		"/image":   {hex.EncodeToString(make([]byte, 32)), fault.FirmwareImageBad, "its checksum is " + hex.EncodeToString(short[:])},
		"/nothing": {"", fault.FirmwareImageBad, "404"},
		"/endless": {"", fault.FirmwareImageBad, "too large"},
	} {
		_, err := fetch(t.Context(), s.URL+path+"?token=hunter2", c.checksum)
		require.ErrorContains(t, err, c.words)
		require.Equal(t, c.code, fault.CodeOf(err))
		require.NotContains(t, err.Error(), "hunter2")
	}
	_, err := fetchFirmware(dial.Reach{}, 1)(t.Context(), s.URL+"/image", "")
	require.Error(t, err, "an address of this machine")
}
