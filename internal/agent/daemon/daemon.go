//go:build linux

// Package daemon is the ramdisk agent of Temper: it looks its node up, tells the API where it can be reached, and carries out the
// commands of conductors on the machine that it runs on. It speaks the protocol of ironic-python-agent and starts nothing by itself.
package daemon

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	stdlog "log"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"go.uber.org/zap"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/agent/hardware"
	"go.temper.dev/temper/internal/agent/lldp"
	"go.temper.dev/temper/internal/agent/selferase"
)

// Config says for which API, and on what, an agent works.
type Config struct {
	APIURLs       []string // of Ironic's or Temper's API, tried in this order
	InspectionURL string   // where the inventory is posted before the lookup, "" = nowhere
	Node          string   // uuid; "" = the API finds the node by the MACs
	MACs          []string // nil = those of the machine's interfaces
	Token         string   // that the boot medium had; "" = the first lookup returns one
	Listen        string   // address of the command API, ":9999"
	Advertise     string   // HOST or HOST:PORT of the callback URL; "" = the address from which the API is reached
	Disks         []string // paths of devices or files that are the disks; nil = the disks of the machine
	Scratch       string   // folder for images that have to be stored before they are written
	StateFile     string   // keeps the agent's identity for the next process of the same boot; "" = none
	Version       string   // of this program
	Machine       hardware.Machine
	API           *http.Client // for the API
	Images        *http.Client // for image servers
	Log           *zap.Logger
	Firmware      string // folder of UEFI's variables, in which the image's boot option is written; "" = none is written
	// SelfErase opens a disk for the commands by which it erases itself; nil = the kernel does.
	SelfErase func(path string) (selferase.Device, error)
	// Mdadm runs mdadm, which makes software RAID; nil = the program of that name.
	Mdadm func(ctx context.Context, args ...string) error
	// LLDP returns what switches have sent to network interfaces, within a time that it bounds; nil = the inventory has none of that.
	LLDP      func(ctx context.Context, interfaces []string) (map[string][]lldp.TLV, error)
	RescueDir string // folder in which the ramdisk finds who may log in to a rescue; "" = the ramdisk lets nobody in
	// End ends the agent's work when a conductor asks for it. It is called once, after the answer was sent.
	End func(Ending)
}

// Ending is what becomes of the machine when the agent has done its work.
type Ending string

// The endings.
const (
	PowerOff Ending = "power off"
	Reboot   Ending = "reboot" // from the disk
	Rescue   Ending = "rescue" // it stays on, and is a person's
)

// Agent is the agent of one boot.
type Agent struct {
	Config
	started time.Time
	force   chan struct{} // a heartbeat is due
	work    sync.WaitGroup
	journal journal

	mu         sync.Mutex
	id         identity
	api        string // the URL that answered last
	node       agent.LookupNode
	settings   agent.LookupConfig
	callback   string
	locked     bool
	tokenOnGet bool // a GET has had a token, so every GET needs it
	results    []*command
	image      agent.PartitionUUIDs // what is on the disk since write_image
	skewTold   bool
}

// New returns an agent. Run runs it.
func New(cfg Config) *Agent {
	a := &Agent{Config: cfg, started: time.Now(), force: make(chan struct{}, 1)}
	a.Log = a.Log.WithOptions(zap.WrapCore(a.journal.tee))
	return a
}

// Run works until ctx ends. It gives up nothing that may succeed later: an API that does not answer or does not know the node is asked
// for ever.
func (a *Agent) Run(ctx context.Context) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", a.Listen)
	if err != nil {
		return fmt.Errorf("listen for commands: %w", err)
	}
	defer listener.Close()
	if a.id, err = loadIdentity(a.StateFile); err != nil {
		return err
	}
	node := a.Node
	if a.InspectionURL != "" && a.id.Token == "" {
		if found := a.inspect(ctx); node == "" {
			node = found
		}
	}
	if err := a.lookUp(ctx, node); err != nil {
		return err
	}
	if err := a.setCallback(ctx, listener); err != nil {
		return err
	}
	return a.serve(ctx, listener)
}

// serve answers commands and sends heartbeats until ctx ends.
func (a *Agent) serve(ctx context.Context, listener net.Listener) error {
	cert, err := a.id.certificate()
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { a.handle(ctx, w, r) }), TLSConfig: &tls.Config{
			MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{cert},
		},
		ReadHeaderTimeout: 30 * time.Second, ReadTimeout: 5 * time.Minute, IdleTimeout: time.Minute, ErrorLog: stdlog.New(io.Discard, "", 0),
	}
	ended := make(chan error, 1)
	go func() { ended <- server.ServeTLS(listener, "", "") }()
	a.heartbeats(ctx, ended)
	err = server.Close()
	if serving := <-ended; !errors.Is(serving, http.ErrServerClosed) {
		err = errors.Join(err, serving)
	}
	a.work.Wait()
	return err
}

// setCallback finds under which URL conductors reach the agent.
func (a *Agent) setCallback(ctx context.Context, listener net.Listener) error {
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return err
	}
	host := a.Advertise
	// The port differs where another machine forwards one of its own to the agent, as the host of a virtual machine does.
	if h, forwarded, err := net.SplitHostPort(host); err == nil {
		host, port = h, forwarded
	}
	if host == "" {
		if host, err = sourceAddress(ctx, a.api); err != nil {
			return fmt.Errorf("find the address under which conductors reach the agent (--advertise): %w", err)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.id.makeCertificate(host); err != nil {
		return err
	}
	if err := a.id.save(a.StateFile); err != nil {
		return err
	}
	a.callback = "https://" + net.JoinHostPort(host, port)
	a.Log.Info("the agent is ready for commands", zap.String("callback_url", a.callback), zap.String("node", a.node.UUID))
	return nil
}

// forceHeartbeat has the next heartbeat sent soon, because a command has ended.
func (a *Agent) forceHeartbeat() {
	select {
	case a.force <- struct{}{}:
	default: // one is already asked for
	}
}

// inventory returns the machine's hardware, with the disks that are used.
func (a *Agent) inventory() agent.Inventory {
	out := a.Machine.Inventory()
	if a.Disks != nil {
		out.Disks = nil
		for _, d := range a.candidates() {
			out.Disks = append(out.Disks, agent.Disk{Name: agent.Text(d.Name), Size: agent.Number(d.Size), Serial: agent.Text(d.Facts["serial"])})
		}
	}
	if a.MACs != nil {
		out.Interfaces = nil
		for i, mac := range a.MACs {
			out.Interfaces = append(out.Interfaces, agent.Interface{Name: agent.Text("given" + strconv.Itoa(i)), MAC: agent.Text(mac), HasCarrier: true})
		}
	}
	return out
}
