package system_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	stacks "go.temper.dev/temper/test/stack"
)

// need fails the test, or skips it where the developer allows that, unless a program or file of a Debian package is there.
func need(t *testing.T, debian, what string) {
	t.Helper()
	_, err := exec.LookPath(what)
	if filepath.IsAbs(what) {
		_, err = os.Stat(what)
	}
	switch {
	case err == nil:
	case os.Getenv("TEMPER_TEST_REQUIRE") != "":
		t.Fatalf("%s is not installed (Debian: apt-get install %s)", what, debian)
	default:
		t.Skipf("NOT TESTED: %s is not installed (Debian: apt-get install %s)", what, debian)
	}
}

// builtISO returns the ISO of the ramdisk, as make ramdisk builds it. It is built once per content of its programs, and kept in the
// user's cache, because a build computes for 15 s.
func builtISO(t *testing.T) string {
	t.Helper()
	need(t, "apt", "apt-get")
	root, err := filepath.Abs(stacks.Root)
	require.NoError(t, err)
	dir := t.TempDir()
	sum := sha256.New()
	for name, of := range map[string]string{"init": "./internal/ramdisk/init", "temper-agent": "./cmd/temper-agent", "mkramdisk": "./internal/ramdisk/mkramdisk"} {
		command(t, root, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", filepath.Join(dir, name), of)
	}
	for _, name := range []string{"init", "temper-agent", "mkramdisk"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		sum.Write(b)
	}
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	kept := filepath.Join(cache, "temper", "ramdisk", hex.EncodeToString(sum.Sum(nil))[:16])
	iso := filepath.Join(kept, "temper-ramdisk.iso")
	if _, err := os.Stat(iso); err == nil {
		return iso
	}
	require.NoError(t, os.RemoveAll(filepath.Dir(kept))) // of earlier programs
	require.NoError(t, os.MkdirAll(filepath.Dir(kept), 0o755))
	command(t, root, filepath.Join(dir, "mkramdisk"), "--init", filepath.Join(dir, "init"), "--agent", filepath.Join(dir, "temper-agent"), "--out", filepath.Join(dir, "out"), "--append", "no_timer_check")
	command(t, root, "cp", "-r", filepath.Join(dir, "out"), kept+".new") // perhaps to another file system
	require.NoError(t, os.Rename(kept+".new", kept))
	return iso
}

func command(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, name, args...)
	c.Dir, c.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	out, err := c.CombinedOutput()
	require.NoError(t, err, string(out))
}

// vm starts a virtual machine, and returns what it prints and how it ended. It computes everything itself: a machine may have
// /dev/kvm on which a usual kernel hangs.
func vm(t *testing.T, console string, args ...string) <-chan error {
	t.Helper()
	out, err := os.Create(console)
	require.NoError(t, err)
	c := exec.CommandContext(t.Context(), "qemu-system-x86_64", append([]string{
		"-accel", "tcg,thread=multi", "-cpu", "max", "-m", "512", "-no-reboot", "-display", "none", "-monitor", "none", "-serial", "stdio", "-device", "virtio-rng-pci",
	}, args...)...)
	c.Stdout, c.Stderr = out, out
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, c.Start())
	ended, done := make(chan error, 1), make(chan struct{})
	go func() {
		ended <- c.Wait()
		close(done)
	}()
	t.Cleanup(func() {
		_ = c.Process.Kill() // it may have ended
		<-done
		_ = out.Close()
	})
	return ended
}

// sector is a boot sector: the BIOS starts it, and it prints what on the first serial port.
func sector(what string) []byte {
	b := append([]byte{
		0x31, 0xc0, 0x8e, 0xd8, 0xfc, // ax = ds = 0, forward
		0xb8, 0xe3, 0x00, 0x31, 0xd2, 0xcd, 0x14, // the port: 9600 baud, 8 bits
		0xbe, 0x1f, 0x7c, // si = the text, behind this code
		0xac, 0x84, 0xc0, 0x74, 0x08, 0xb4, 0x01, 0x31, 0xd2, 0xcd, 0x14, 0xeb, 0xf3, // prints until there is a 0
		0xf4, 0xeb, 0xfd, // and halts
	}, what...)
	return append(b, make([]byte, 440-len(b))...)
}

// hostAddress is an address of this machine that a virtual machine behind QEMU's network reaches, as the API does.
func hostAddress(t *testing.T) string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	require.NoError(t, err)
	for _, a := range all {
		if ip, _, err := net.ParseCIDR(a.String()); err == nil && ip.To4() != nil && ip.IsGlobalUnicast() {
			return ip.String()
		}
	}
	t.Skip("NOT TESTED: this machine has no address but loopback, and a virtual machine can't fetch an image from it")
	return ""
}

// served serves a file's content on an address of this machine.
func served(t *testing.T, content []byte) string {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(hostAddress(t), "0")) //nolint:noctx // a test
	require.NoError(t, err)
	srv := &httptest.Server{Listener: l, Config: &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "disk.raw", time.Time{}, bytes.NewReader(content))
	})}}
	srv.Start()
	t.Cleanup(srv.Close)
	return srv.URL + "/disk.raw"
}

// One whole deploy, of a virtual machine: it boots Temper's own ramdisk with UEFI from the medium that the API makes and the BMC was
// given, an agent there writes the image to the disk, and the machine boots from it.
func TestAVirtualMachineIsDeployed(t *testing.T) {
	t.Parallel()
	const firmware = "/usr/share/OVMF/OVMF_"
	need(t, "qemu-system-x86", "qemu-system-x86_64")
	need(t, "ovmf", firmware+"CODE_4M.fd")
	s := world(t)
	const host = "10.0.2.2" // as the machine sees it
	api := s.role(t, "api", "vm-api", []string{"TEMPER_RAMDISK=" + builtISO(t), "TEMPER_ALLOWED_HOSTS=" + host}, "--listen", "127.0.0.1:0")
	m := newMortal(t, "vm", "TEMPER_MEDIA_URL="+api.URL(), "TEMPER_AGENT_URL="+strings.Replace(api.URL(), "127.0.0.1", host, 1), "TEMPER_DEPLOY_CALLBACK_TIMEOUT=10m")
	m.withoutISO()
	m.spoil(fault{Kind: "no_agent"})
	image := partitioned()
	copy(image, sector("the image has booted\r\n"))
	sum := sha256.Sum256(image)
	m.patch("instance_info", map[string]any{"image_source": served(t, image), "image_disk_format": "raw", "image_os_hash_algo": "sha256", "image_os_hash_value": hex.EncodeToString(sum[:])})
	id := m.provision("active", map[string]any{"configdrive": map[string]any{"meta_data": map[string]any{"hostname": "vm"}}})
	m.await("wait call-back")

	dir := t.TempDir()
	disk, medium, console := filepath.Join(dir, "disk"), filepath.Join(dir, "medium.iso"), filepath.Join(dir, "console")
	require.NoError(t, os.WriteFile(disk, nil, 0o600))
	require.NoError(t, os.Truncate(disk, 5<<30))
	download(t, m.hardware().Media, medium)
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a test
	require.NoError(t, err)
	callback := l.Addr().String()
	require.NoError(t, l.Close())
	drive := []string{"-drive", "if=virtio,format=raw,file=" + disk}
	off := vm(t, console, append(drive, "-machine", "q35", "-cdrom", medium,
		"-drive", "if=pflash,unit=0,format=raw,readonly=on,file="+firmware+"CODE_4M.fd",
		"-drive", "if=pflash,unit=1,format=raw,snapshot=on,file="+firmware+"VARS_4M.fd",
		"-netdev", "user,id=net,hostfwd=tcp:"+callback+"-:9999", "-device", "e1000e,netdev=net,romfile=,mac="+m.hardware().MACs[0],
		"-fw_cfg", "name=opt/dev.temper/parameters,string=temper-advertise="+callback)...)
	said := func() string {
		b, err := os.ReadFile(console)
		require.NoError(t, err)
		return string(b)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the console said:\n%s", said())
		}
	})
	m.done(id, "active")
	require.NoError(t, <-off, "the agent has switched it off")
	require.NotContains(t, said(), "ipa-agent-token")

	// Its BMC is a simulated one, which can't switch it on again.
	console = filepath.Join(dir, "console of the image")
	vm(t, console, drive...)
	eventually(t, patience, func() error {
		if !strings.Contains(said(), "the image has booted") {
			return fmt.Errorf("it has not booted from its disk: %s", said())
		}
		return nil
	})
}

func download(t *testing.T, from, to string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, from, nil)
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer res.Body.Close()
	require.Equal(t, http.StatusOK, res.StatusCode)
	f, err := os.Create(to)
	require.NoError(t, err)
	_, err = io.Copy(f, res.Body)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}
