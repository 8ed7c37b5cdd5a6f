package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"go.temper.dev/temper/test/stack"
)

// vmSettings give an emulated machine time, and end a step that a dead conductor had soon.
const vmSettings = `
deploy_callback_timeout: 5m
power_timeout: 1m
heartbeat_timeout: 5s
`

// greeting is what the deployed image prints on the serial port.
const greeting = "Hello from the disk that Temper has written."

// startVM starts a stack whose rack is one virtual machine.
func startVM(ctx context.Context, temper, ramdisk string, out *screen) (*demo, error) {
	ramdisk, err := filepath.Abs(ramdisk)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(ramdisk); err != nil {
		return nil, fmt.Errorf("%w: make ramdisk builds it", err)
	}
	out.say("Starting PostgreSQL, Temporal, the API, an orchestrator, 2 conductors and a rack with one virtual machine")
	s, err := stack.Start(ctx, temper, vmSettings, "--nodes", "1", "--conductors", "2", "--machines", "qemu", "--firmware", "bios", "--ramdisk", ramdisk)
	if err != nil {
		return nil, err
	}
	out.say("  API          %s\n  Temporal UI  %s\n  rack         %s/servers", s.APIURL, s.TemporalUIURL, s.RackURL)
	return &demo{Stack: s, out: out}, nil
}

// showVM deploys the virtual machine with an image that greets, while the conductor is killed that has it written.
func (s *demo) showVM(ctx context.Context) error {
	const name = "sim-0001"
	url, digest, stop, err := serveImage()
	if err != nil {
		return err
	}
	defer stop()
	if err := s.Set(ctx, name, map[string]any{
		"automated_clean": false, // it would take minutes here
		"instance_info":   map[string]any{"image_source": url, "image_disk_format": "raw", "image_os_hash_algo": "sha256", "image_os_hash_value": digest},
	}); err != nil {
		return err
	}
	for _, m := range []struct{ doing, verb, state string }{{"Verifying", "manage", "manageable"}, {"Providing", "provide", "available"}} {
		if err := s.move(ctx, m.doing, []string{name}, m.verb, m.state, nil); err != nil {
			return err
		}
	}
	out := &serial{demo: s, file: filepath.Join(s.Dir, "data", "rack", "qemu", name+".console")}
	out.began = time.Now()
	s.out.say("Deploying %s with %s: it boots Temper's ramdisk from a CD that the API makes", name, url)
	if err := s.Provision(ctx, name, "active"); err != nil {
		return err
	}
	return stack.Poll(ctx, func() (bool, error) { return out.look(ctx, name) })
}

// serial follows what the machine prints, and kills the conductor once.
type serial struct {
	*demo
	file   string
	began  time.Time
	state  string // of the node
	victim string // the conductor that was killed; "" = none yet
	next   string // the one that went on
}

func (l *serial) look(ctx context.Context, name string) (done bool, err error) {
	nodes, err := l.nodes(ctx)
	if err != nil {
		return false, err
	}
	n := nodes[name]
	if n.State != l.state {
		l.state = n.State
		l.out.say("  %5.1f s  %s is in %s, power %s", time.Since(l.began).Seconds(), name, n.State, n.Power)
	}
	if isFailed(n.State) {
		return false, fmt.Errorf("node %s is in %s: %s", name, n.State, n.LastError)
	}
	if err := l.kill(ctx, name); err != nil {
		return false, err
	}
	printed, err := os.ReadFile(l.file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	lines := strings.Split(strings.TrimRight(string(printed), "\r\n\x00"), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	l.out.progress("serial port: " + last)
	if n.State != "active" || !strings.Contains(string(printed), greeting) {
		return false, nil
	}
	if l.victim == "" {
		return false, errors.New("no conductor could be killed while it had the image written")
	}
	l.out.say("  %5.1f s  serial port: %s", time.Since(l.began).Seconds(), greeting)
	l.out.say("The machine was deployed, and has booted from its disk, although %s was killed while the image was written: %s went on.", l.victim, l.next)
	return true, nil
}

// kill kills the conductor that has the image written, and sees which one goes on.
func (l *serial) kill(ctx context.Context, name string) error {
	if l.next != "" {
		return nil
	}
	o, err := l.Newest(ctx, name)
	if err != nil {
		return err
	}
	for _, st := range o.Steps {
		if st.Interface != "deploy" || st.Step != "write_image" || st.Conductor == "" {
			continue
		}
		switch {
		case l.victim == "" && st.State == "running":
			if _, err := l.Signal(st.Conductor, syscall.SIGKILL); err != nil {
				return err
			}
			l.victim = st.Conductor
			l.out.say("  %5.1f s  %s has the image written, and is killed", time.Since(l.began).Seconds(), l.victim)
		case l.victim != "" && st.Conductor != l.victim:
			l.next = st.Conductor
			l.out.say("  %5.1f s  %s goes on with the step", time.Since(l.began).Seconds(), l.next)
		}
	}
	return nil
}

// imageBytes is the size of the image: large enough that writing it takes seconds.
const imageBytes = 512 << 20

// bootSector returns the first sector of a disk that prints greeting by the BIOS's rules: 16-bit code, which writes each character to
// the first serial port when that is ready, and then rests. It has one partition.
func bootSector() []byte {
	code := []byte{
		0x31, 0xc0, // xor ax, ax
		0x8e, 0xd8, // mov ds, ax
		0xbe, 0x22, 0x7c, // mov si, text
		0xfc,       // cld
		0xac,       // next: lodsb
		0x84, 0xc0, // test al, al
		0x74, 0x12, // jz rest
		0x88, 0xc4, // mov ah, al
		0xba, 0xfd, 0x03, // mov dx, 0x3fd
		0xec,       // wait: in al, dx
		0xa8, 0x20, // test al, 0x20
		0x74, 0xfb, // jz wait
		0x88, 0xe0, // mov al, ah
		0xba, 0xf8, 0x03, // mov dx, 0x3f8
		0xee,       // out dx, al
		0xeb, 0xe9, // jmp next
		0xf4,       // rest: hlt
		0xeb, 0xfd, // jmp rest
	}
	sector := make([]byte, 512)
	copy(sector, append(code, "\r\n"+greeting+"\r\n\x00"...))
	const entry, first = 446, 2048
	sector[entry], sector[entry+4] = 0x80, 0x83 // active, Linux
	binary.LittleEndian.PutUint32(sector[entry+8:], first)
	binary.LittleEndian.PutUint32(sector[entry+12:], imageBytes/512-first)
	copy(sector[510:], []byte{0x55, 0xaa})
	return sector
}

// serveImage serves an image on an address of this machine that its virtual machines reach, too.
func serveImage() (url, digest string, stop func(), err error) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return "", "", nil, err
	}
	host := ""
	for _, a := range all {
		if ip, _, err := net.ParseCIDR(a.String()); err == nil && ip.To4() != nil && ip.IsGlobalUnicast() {
			host = ip.String()
		}
	}
	if host == "" {
		return "", "", nil, errors.New("this machine has no address but loopback, from which a virtual machine could fetch an image")
	}
	image := make([]byte, imageBytes)
	copy(image, bootSector())
	sum := sha256.Sum256(image)
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0")) //nolint:noctx // it returns at once
	if err != nil {
		return "", "", nil, err
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "disk.raw", time.Time{}, bytes.NewReader(image))
	})}
	go func() { _ = server.Serve(l) }() // until Close
	return "http://" + l.Addr().String() + "/disk.raw", hex.EncodeToString(sum[:]), func() { _ = server.Close() }, nil
}
