package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/bmc/ipmi"
	"go.temper.dev/temper/internal/bmc/redfish"
	"go.temper.dev/temper/internal/cli"
	"go.temper.dev/temper/internal/dial"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// surveyAnswer is how long a BMC may take for one answer while many are asked.
const surveyAnswer = 30 * time.Second

// askBMC is cli.AskBMC: it asks over the protocol of the driver.
func askBMC(ctx context.Context, driver string, info map[string]any) cli.BMC {
	hardware, known := node.Hardware(driver)
	switch {
	case !known:
		return cli.BMC{Problem: fmt.Sprintf("there is no driver %q", driver)}
	case !hardware.Probed:
		return cli.BMC{Problem: "the driver " + driver + " has no BMC"}
	}
	target := bmc.Target{Node: "the BMC", Info: info}
	settings := bmc.Settings{RequestTimeout: surveyAnswer, MostTimeout: surveyAnswer, Reach: dial.Reach{Loopback: true, Allow: everywhere}}
	var found cli.BMC
	var err error
	if hardware.ProbeFlag == "--ipmi" {
		found, err = surveyIPMI(ctx, settings, target)
	} else {
		found, err = surveyRedfish(ctx, settings, target)
	}
	if err != nil {
		return refusedBMC(err)
	}
	return found
}

func surveyRedfish(ctx context.Context, settings bmc.Settings, target bmc.Target) (cli.BMC, error) {
	d := redfish.New(redfish.Config{Settings: settings})
	defer logOut(ctx, d)
	p, err := d.Probe(ctx, target)
	if err != nil {
		return cli.BMC{}, err
	}
	found := cli.BMC{
		Reachable: true, Credentials: p.System != "", Model: strings.TrimSpace(p.Manufacturer + " " + p.Model), Firmware: p.Firmware, License: p.License(),
	}
	words, works := p.Media()
	if found.Media = works; !works {
		found.Problem = "virtual media: " + words
	}
	return found, nil
}

// surveyIPMI asks a BMC that has no virtual media.
func surveyIPMI(ctx context.Context, settings bmc.Settings, target bmc.Target) (cli.BMC, error) {
	d := ipmi.New(ipmi.Config{Settings: settings})
	defer logOut(ctx, d)
	p, err := d.Probe(ctx, target)
	if err != nil {
		return cli.BMC{}, err
	}
	return cli.BMC{Reachable: true, Credentials: true, Model: fmt.Sprintf("%s, product %d", p.Manufacturer, p.Product), Firmware: p.Firmware}, nil
}

func logOut(ctx context.Context, d bmc.Driver) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), logoutTimeout)
	defer cancel()
	d.Close(ctx)
}

// refusedBMC returns what the error of a BMC tells. One that answers with an error of its own is reachable.
func refusedBMC(err error) cli.BMC {
	found := cli.BMC{Problem: fault.Text(err)}
	switch fault.CauseOf(err) {
	case fault.BMCWrongPassword:
		found.Reachable, found.Problem = true, "the BMC refuses this user with this password"
	case fault.BMCRefuses, fault.BMCBusy, fault.BMCBadAnswer, fault.BMCNotTrusted:
		found.Reachable = true
	}
	return found
}
