package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"go.temper.dev/temper/internal/medium"
	"go.temper.dev/temper/internal/ramdisk/iso"
	"go.temper.dev/temper/test/stack"
)

// The load of benchBoots.
const (
	bootClients = 500
	bootKernel  = 10 << 20
	bootInitrd  = 30 << 20
)

// benchBoots measures temper boot while 500 servers load 40 MiB each at once, beside the standard library's file server, which loads the
// same two files to the same clients.
func benchBoots(ctx context.Context, o options) error {
	fmt.Printf("# %d servers boot at once, %d MiB each; goal: as fast as the standard library's file server, under 200 MiB\n", bootClients, (bootKernel+bootInitrd)>>20)
	dir, err := os.MkdirTemp("", "temper-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	kernel, initrd := bytes.Repeat([]byte("kernel! "), bootKernel/8), bytes.Repeat([]byte("initrd! "), bootInitrd/8)
	cd := filepath.Join(dir, "ramdisk.iso")
	if err := writeRamdisk(cd, kernel, initrd); err != nil {
		return err
	}
	for name, content := range map[string][]byte{"kernel": kernel, "initrd": initrd} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return err
		}
	}
	s, err := stack.Start(ctx, o.temper, "", "--nodes", "0", "--enroll=false", "--conductors", "1", "--drivers", "fake-hardware")
	if err != nil {
		return err
	}
	defer func() { _ = s.Stop() }()
	at, err := freePort(ctx)
	if err != nil {
		return err
	}
	p, err := s.Role(ctx, "boot", "bench-boot", []string{"TEMPER_RAMDISK=" + cd, "TEMPER_DISCOVERY=true", "TEMPER_AGENT_URL=http://" + at}, "--listen", at, "--metrics-listen", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer func() { _ = p.Stop(context.WithoutCancel(ctx)) }()
	if err := bootAll(ctx, "temper boot", p.Pid(), func(i int, name string) string {
		return fmt.Sprintf("http://%s/netboot/52-54-00-00-%02x-%02x/%s", at, i>>8, i&255, name)
	}, "script", "kernel", "initrd"); err != nil {
		return err
	}
	return besideStandardLibrary(ctx, dir)
}

// writeRamdisk writes a CD with the files of Temper's ramdisk. Nothing can boot from it.
func writeRamdisk(name string, kernel, initrd []byte) error {
	const loader = "isolinux/isolinux.bin"
	files := []iso.File{{Path: "vmlinuz", Content: kernel}, {Path: "initrd", Content: initrd}, {Path: loader, Content: make([]byte, 8000)}, {Path: "isolinux/ldlinux.c32", Content: []byte("core")}}
	for path, content := range medium.Files("console=ttyS0") {
		files = append(files, iso.File{Path: path, Content: content})
	}
	return iso.Write(name, iso.Image{Label: medium.Label, Files: files, BIOS: loader, UEFI: []iso.File{{Path: "EFI/BOOT/BOOTX64.EFI", Content: []byte("shim")}}})
}

// besideStandardLibrary measures the file server of net/http, in a process of its own.
func besideStandardLibrary(ctx context.Context, dir string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	c := exec.CommandContext(ctx, self, "--serve", dir)
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	defer func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	}()
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return err
	}
	return bootAll(ctx, "net/http", c.Process.Pid, func(_ int, name string) string { return "http://" + strings.TrimSpace(address) + "/" + name }, "kernel", "initrd")
}

// serveFiles serves a folder until the process is ended, and prints its address first.
func serveFiles(dir string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it ends with the process
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	return (&http.Server{Handler: http.FileServer(http.Dir(dir)), ReadHeaderTimeout: time.Minute}).Serve(l)
}

// bootAll has all clients load their files at once.
func bootAll(ctx context.Context, what string, pid int, url func(client int, name string) string, names ...string) error {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: bootClients}}
	defer client.CloseIdleConnections()
	before, cpu, since := rssOf(pid), cpuOf(pid), time.Now()
	var all sync.WaitGroup
	failed := make(chan error, bootClients)
	for i := range bootClients {
		all.Go(func() {
			for _, name := range names {
				if err := load(ctx, client, url(i, name)); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	all.Wait()
	took := time.Since(since)
	select {
	case err := <-failed:
		return fmt.Errorf("%s: %w", what, err)
	default:
	}
	fmt.Printf("  %-12s %6.1f s, %5.0f MB/s, %5.1f s of CPU, resident memory %s before, at most %s\n", what, took.Seconds(),
		float64(bootClients*(bootKernel+bootInitrd))/1e6/took.Seconds(), (cpuOf(pid) - cpu).Seconds(), mib(before), mib(peakOf(pid)))
	return nil
}

func load(ctx context.Context, client *http.Client, url string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	res, err := client.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", url, res.Status)
	}
	_, err = io.Copy(io.Discard, res.Body)
	return err
}

func freePort(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
