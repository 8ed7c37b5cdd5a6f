package worker

import (
	"context"
	"maps"
	"net/url"
	"strings"

	"go.temper.dev/temper/internal/bmc"
)

// serialConsole is the driver of BMCs that speak Redfish, whose serial console is that of IPMI (Serial over LAN): Redfish has none.
type serialConsole struct {
	*insecureWarner
	ipmi bmc.Driver
}

// Validate checks the properties of both. Those of IPMI count once one is given.
func (d *serialConsole) Validate(info map[string]any) error {
	if err := d.insecureWarner.Validate(info); err != nil {
		return err
	}
	for name := range info {
		if strings.HasPrefix(name, "ipmi_") {
			return d.ipmi.Validate(ipmiInfo(info))
		}
	}
	return nil
}

// Open opens a session whose console is IPMI's. Nothing is asked by IPMI before the console is opened.
func (d *serialConsole) Open(ctx context.Context, t bmc.Target) (bmc.Session, error) {
	s, err := d.insecureWarner.Open(ctx, t)
	if err != nil {
		return s, err
	}
	t.Info = ipmiInfo(t.Info)
	s.ConsoleOpener = &consoleByIPMI{driver: d.ipmi, target: t}
	return s, nil
}

// Close closes what the sessions of both share.
func (d *serialConsole) Close(ctx context.Context) {
	d.insecureWarner.Close(ctx)
	d.ipmi.Close(ctx)
}

// ipmiInfo returns the driver_info of IPMI for a BMC: what it does not say is as for Redfish.
func ipmiInfo(info map[string]any) map[string]any {
	out := maps.Clone(info)
	if out == nil {
		out = map[string]any{}
	}
	host := ""
	if address, ok := info["redfish_address"].(string); ok {
		if !strings.Contains(address, "://") {
			address = "https://" + address
		}
		if u, err := url.Parse(address); err == nil {
			host = u.Hostname()
		}
	}
	for name, value := range map[string]any{"ipmi_address": host, "ipmi_username": info["redfish_username"], "ipmi_password": info["redfish_password"]} {
		if _, given := out[name]; !given && value != nil {
			out[name] = value
		}
	}
	return out
}

// consoleByIPMI opens a session by IPMI with each console, and ends it with that.
type consoleByIPMI struct {
	driver bmc.Driver
	target bmc.Target
}

// OpenConsole is that of bmc.ConsoleOpener.
func (o *consoleByIPMI) OpenConsole(ctx context.Context) (bmc.Console, error) {
	s, err := o.driver.Open(ctx, o.target)
	if err != nil {
		return nil, err
	}
	c, err := s.OpenConsole(ctx)
	if err != nil {
		s.Close()
		return nil, err
	}
	return sessionConsole{c, s}, nil
}

// EndConsole is that of bmc.ConsoleOpener.
func (o *consoleByIPMI) EndConsole(ctx context.Context) error {
	s, err := o.driver.Open(ctx, o.target)
	if err != nil {
		return err
	}
	defer s.Close()
	return s.EndConsole(ctx)
}

// sessionConsole is a console with the session that it was opened in.
type sessionConsole struct {
	bmc.Console
	session bmc.Session
}

// Close closes both.
func (c sessionConsole) Close() error {
	defer c.session.Close()
	return c.Console.Close()
}
