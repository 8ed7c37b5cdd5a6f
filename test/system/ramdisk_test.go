package system_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// partitioned is a disk image of 8 MiB with a boot record, of which one partition begins at 1 MiB.
func partitioned() []byte {
	b := bytes.Repeat([]byte("temper image 16b"), 8<<16)
	copy(b[446:512], make([]byte, 66))
	copy(b[446:], []byte{0x80, 0, 0, 0, 0x83, 0, 0, 0, 0, 8, 0, 0, 0, 8, 0, 0}) // 2048 sectors from 2048 on
	b[510], b[511] = 0x55, 0xaa
	copy(b[3<<20:], make([]byte, 2<<20)) // zeros are not transferred to the disk
	return b
}

// imageInParts serves an image whose second half comes when gate is closed; until then a byte of it a second. begun is closed when the first half was sent.
func imageInParts(t *testing.T, image []byte, gate <-chan struct{}) (url string, begun chan struct{}, gets func() int) {
	t.Helper()
	begun = make(chan struct{})
	over := make(chan struct{})
	count := make(chan int, 1)
	count <- 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(image)))
		_, _ = w.Write(image[:len(image)/2])
		_ = http.NewResponseController(w).Flush() // the client may have hung up
		if r.Header.Get("Range") != "" {
			return // the API reads the beginning
		}
		n := <-count
		if n == 0 {
			close(begun)
		}
		count <- n + 1
		drip := time.NewTicker(time.Second)
		defer drip.Stop()
		for sent := len(image) / 2; ; sent++ {
			select {
			case <-gate:
				_, _ = w.Write(image[sent:])
				return
			case <-over:
				return
			case <-r.Context().Done():
				return
			case <-drip.C: // a server that stands still for a minute is given up
				_, _ = w.Write(image[sent : sent+1])
				_ = http.NewResponseController(w).Flush()
			}
		}
	}))
	t.Cleanup(func() {
		close(over)
		srv.CloseClientConnections()
		srv.Close()
	})
	return srv.URL + "/disk.raw", begun, func() int {
		n := <-count
		count <- n
		return n
	}
}

// temperAgent starts "temper agent" as the agent of a server, with a file as its disk. It returns how it ended.
func (n *node) temperAgent(disk string) <-chan error {
	n.t.Helper()
	args := []string{
		"agent", "--api-url", n.s.APIURL, "--disk", disk, "--listen", "127.0.0.1:0", "--advertise", "127.0.0.1", "--scratch", n.t.TempDir(),
		"--state", filepath.Join(n.t.TempDir(), "agent.json"),
	}
	for _, mac := range n.hardware().MACs {
		args = append(args, "--mac", mac)
	}
	out, err := os.Create(n.s.Log("agent-" + n.server))
	require.NoError(n.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	c := n.s.Command(ctx, args...)
	c.Stdout, c.Stderr = out, out
	require.NoError(n.t, c.Start())
	ended := make(chan error, 1)
	done := make(chan struct{})
	go func() {
		ended <- c.Wait()
		close(done)
	}()
	n.t.Cleanup(func() {
		cancel()
		<-done
		_ = out.Close()
	})
	return ended
}

// The agent of Temper's own ramdisk, a real process that writes to a real file, carries out a deploy. The conductor that watches it
// is killed while the image is written: nothing is written twice, and the bytes are those of the image.
func TestTemperAgentWritesAnImageWhileItsConductorDies(t *testing.T) {
	t.Parallel()
	m := newMortal(t, "ramdisk")
	image := partitioned()
	sum := sha256.Sum256(image)
	gate := make(chan struct{})
	url, begun, gets := imageInParts(t, image, gate)
	disk := filepath.Join(t.TempDir(), "disk")
	require.NoError(t, os.WriteFile(disk, []byte("what an earlier tenant left"), 0o600))
	require.NoError(t, os.Truncate(disk, 5<<30))

	m.spoil(fault{Kind: "no_agent"})
	m.patch("instance_info", map[string]any{"image_source": url, "image_disk_format": "raw", "image_os_hash_algo": "sha256", "image_os_hash_value": hex.EncodeToString(sum[:])})
	id := m.provision("active", map[string]any{"configdrive": map[string]any{"meta_data": map[string]any{"hostname": "written-by-temper"}}})
	m.await("wait call-back")
	ended := m.temperAgent(disk)

	select {
	case <-begun:
	case err := <-ended:
		require.NoError(t, errors.Join(err, errors.New("the agent ended before it had the image; see its log "+m.s.Log("agent-"+m.server))))
	case <-t.Context().Done():
	}
	m.kill(t, id, func(st step) bool { return st.Step == "write_image" })
	eventually(t, patience, func() error {
		d, err := m.told(id)
		if err != nil {
			return err
		}
		for _, st := range d.Steps {
			if st.Step == "write_image" && m.alive[text(st.Conductor)] != nil {
				return nil
			}
		}
		return fmt.Errorf("nobody has taken write_image over: %+v", d)
	})
	close(gate)
	now := m.done(id, "active")
	require.Equal(t, "power on", text(now.Power))
	require.NoError(t, <-ended, "power_off ends it")
	require.Equal(t, 1, gets(), "the image was written once")

	f, err := os.Open(disk)
	require.NoError(t, err)
	defer f.Close()
	got := make([]byte, len(image))
	_, err = f.ReadAt(got, 0)
	require.NoError(t, err)
	require.True(t, bytes.Equal(image[512:], got[512:]), "the disk has the image")
	require.Equal(t, image[:446+16], got[:446+16], "and its boot record, to which the config drive was added")
	entry := got[446+16:]
	at := int64(entry[8])<<9 | int64(entry[9])<<17 | int64(entry[10])<<25 | int64(entry[11])<<33
	label := make([]byte, 8)
	_, err = f.ReadAt(label, at+32<<10+40)
	require.NoError(t, err)
	require.Equal(t, "config-2", string(label))
	info, err := f.Stat()
	require.NoError(t, err)
	require.Less(t, info.Sys().(*syscall.Stat_t).Blocks*512, int64(64<<20), "what was not written takes no room") //nolint:forcetypeassert // it is one, on Linux
}
