//go:build linux

// Package agentcmd is the command "temper agent". It has a package of its own so that a ramdisk can have a program with this command
// only, which is a fourth of the size of one with all roles.
package agentcmd

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/agent/daemon"
	"go.temper.dev/temper/internal/agent/efiboot"
	"go.temper.dev/temper/internal/agent/hardware"
	"go.temper.dev/temper/internal/agent/lldp"
	"go.temper.dev/temper/internal/buildinfo"
	"go.temper.dev/temper/internal/log"
)

// options are the flags of the command.
type options struct {
	cfg              daemon.Config
	tokenFile        string
	caFile           string
	insecure         bool
	power            bool
	lldp             float64 // seconds
	level, logFormat string
}

const help = `Carry out what conductors ask for on this machine: tell its hardware, write images to its disks, erase them.

It is the program of a ramdisk, and speaks the protocol of ironic-python-agent. It looks its node up at the API by the MACs of this
machine, however long that takes, tells the API where it can be reached, and then answers conductors over HTTPS. It writes to the disk
that the node's root device hints name, else to the smallest of 4 GiB or more. A disk that is mounted or otherwise in use is refused.

To try it on an ordinary machine, name a file as its disk and the MAC of a node:

  temper agent --api-url http://127.0.0.1:6385 --mac 52:54:00:aa:bb:cc --disk /tmp/disk.img`

// New returns the command.
func New() *cobra.Command {
	o := options{}
	c := &cobra.Command{
		Use: "agent", Short: "Carry out conductors' commands on this machine; the program of a ramdisk", Long: help, Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c) },
	}
	f := c.Flags()
	f.StringSliceVar(&o.cfg.APIURLs, "api-url", nil, "address of the API; several are tried in this order (ipa-api-url)")
	f.StringVar(&o.cfg.InspectionURL, "inspection-url", "", "where the inventory is posted before the lookup, usually API/v1/continue_inspection (ipa-inspection-callback-url)")
	f.StringVar(&o.cfg.Node, "node", "", "uuid of the node; without it the API finds the node by the MACs")
	f.StringSliceVar(&o.cfg.MACs, "mac", nil, "MACs that the lookup names, instead of those of this machine")
	f.StringSliceVar(&o.cfg.Disks, "disk", nil, "devices or files that are the disks, instead of those of this machine")
	f.StringVar(&o.cfg.Listen, "listen", ":9999", "address on which conductors' commands are answered")
	f.StringVar(&o.cfg.Advertise, "advertise", "", "HOST or HOST:PORT under which conductors reach this machine; default: the address from which it reaches the API, and the port of --listen (temper-advertise)")
	f.StringVar(&o.cfg.Scratch, "scratch", os.TempDir(), "folder for qcow2 images that find no room on the disk beside their content")
	f.StringVar(&o.cfg.StateFile, "state", "", "file that keeps the agent's token and certificate, so that a second process of the same boot can go on")
	f.StringVar(&o.tokenFile, "token-file", "", "file with the token with which the agent proves who it is, which its boot medium had; without it the first lookup returns one")
	f.StringVar(&o.caFile, "ca-file", "", "PEM file with the authorities that certificates of the API and of image servers are verified with, besides the system's (ipa-ca-file)")
	f.StringVar(&o.cfg.RescueDir, "rescue-dir", "", "folder for what a person may log in to a rescue with, where the ramdisk's SSH server finds it; without it a rescue fails")
	f.Float64Var(&o.lldp, "lldp-timeout", 30, "seconds that an inspection waits at most for what switches send to the network interfaces (LLDP); 0 = it does not wait (ipa-lldp-timeout)")
	f.BoolVar(&o.insecure, "insecure", false, "do not verify the certificates of the API and of image servers (ipa-insecure)")
	f.BoolVar(&o.power, "power", false, "switch this machine off, or restart it, when a conductor asks for it; otherwise only the agent ends")
	f.StringVar(&o.level, "log-level", "info", "debug, info, warn or error")
	f.StringVar(&o.logFormat, "log-format", "console", "console or json")
	return c
}

func (o *options) run(c *cobra.Command) error {
	if err := o.check(); err != nil {
		return err
	}
	logger, err := log.New(c.ErrOrStderr(), o.level, o.logFormat, "agent", "")
	if err != nil {
		return err
	}
	transport, err := o.transport()
	if err != nil {
		return err
	}
	if err := o.readToken(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(c.Context())
	defer cancel(nil)
	o.cfg.Log, o.cfg.Version = logger, buildinfo.Version()
	o.cfg.Machine = hardware.Machine{Root: "/", Addresses: addresses, IPMI: askBMC}
	if o.power && o.cfg.Disks == nil { // the machine is the agent's, as in a ramdisk
		o.cfg.Firmware = efiboot.Folder
	}
	if o.lldp > 0 {
		o.cfg.LLDP = o.listen
	}
	o.cfg.API, o.cfg.Images = &http.Client{Transport: transport}, &http.Client{Transport: transport}
	o.cfg.End = func(with daemon.Ending) { cancel(ended{with}) }
	if err := daemon.New(o.cfg).Run(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	var asked ended
	if !errors.As(context.Cause(ctx), &asked) {
		return nil
	}
	logger.Info("a conductor has ended the agent's work", zap.String("ending", string(asked.with)))
	if o.power && asked.with != daemon.Rescue {
		return switchPower(asked.with == daemon.Reboot)
	}
	return nil
}

// ended is why the agent ends when a conductor asks for it.
type ended struct{ with daemon.Ending }

func (ended) Error() string { return "a conductor has ended the agent's work" }

func (o *options) check() error {
	if len(o.cfg.APIURLs) == 0 {
		return errors.New("--api-url is missing: name the address of the API, for example http://192.0.2.1:6385")
	}
	for _, raw := range append([]string{o.cfg.InspectionURL}, o.cfg.APIURLs...) {
		if u, err := url.Parse(raw); raw != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
			return fmt.Errorf("%q is not the URL of an API: it must begin with http:// or https:// and a host", raw)
		}
	}
	for _, mac := range o.cfg.MACs {
		if _, err := net.ParseMAC(mac); err != nil {
			return fmt.Errorf("--mac %q: it must be six pairs of hexadecimal digits, separated by colons", mac)
		}
	}
	for _, disk := range o.cfg.Disks {
		if _, err := os.Stat(disk); err != nil {
			return fmt.Errorf("--disk: %w", err)
		}
	}
	return nil
}

// readToken reads --token-file.
func (o *options) readToken() error {
	if o.tokenFile == "" {
		return nil
	}
	b, err := os.ReadFile(o.tokenFile)
	if err != nil {
		return fmt.Errorf("--token-file: %w", err)
	}
	o.cfg.Token = strings.TrimSpace(string(b))
	if len(o.cfg.Token) < agent.MinToken {
		return fmt.Errorf("--token-file %s has no token: a token has at least %d characters", o.tokenFile, agent.MinToken)
	}
	return nil
}

// transport is for the API and image servers. A download may take hours; that it stands still is found out where it is read.
func (o *options) transport() (*http.Transport, error) {
	conf := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: o.insecure} //nolint:gosec // --insecure says so
	if o.caFile != "" {
		pem, err := os.ReadFile(o.caFile)
		if err != nil {
			return nil, fmt.Errorf("--ca-file: %w", err)
		}
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool() // a ramdisk has none
		}
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("--ca-file %s has no certificate in PEM", o.caFile)
		}
		conf.RootCAs = pool
	}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: 10 * time.Second}).DialContext, TLSClientConfig: conf,
		TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: time.Minute, IdleConnTimeout: 30 * time.Second, MaxResponseHeaderBytes: 64 << 10,
		DisableCompression: true,
	}, nil
}

// listen returns what switches send to the interfaces. They usually do so every 30 seconds.
func (o *options) listen(ctx context.Context, interfaces []string) (map[string][]lldp.TLV, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(o.lldp*float64(time.Second)))
	defer cancel()
	return lldp.Listen(ctx, interfaces)
}

// addresses returns the first addresses of a network interface that others can reach.
func addresses(name string) (v4, v6 string) {
	i, err := net.InterfaceByName(name)
	if err != nil {
		return "", ""
	}
	all, err := i.Addrs()
	if err != nil {
		return "", ""
	}
	for _, a := range all {
		ip, _, err := net.ParseCIDR(a.String())
		switch {
		case err != nil:
		case ip.To4() != nil && v4 == "":
			v4 = ip.String()
		case ip.To4() == nil && v6 == "" && !ip.IsLinkLocalUnicast():
			v6 = ip.String()
		}
	}
	return v4, v6
}
