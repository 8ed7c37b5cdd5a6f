package main

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/bmc/fake"
	"go.temper.dev/temper/internal/config"
	"go.temper.dev/temper/internal/dial"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/tlsfile"
	"go.temper.dev/temper/internal/webhook"
	"go.temper.dev/temper/worker"
)

// logoutTimeout limits the logout. If a BMC does not answer, its session expires.
const logoutTimeout = 2 * time.Second

// logout ends the sessions with all BMCs, even if ctx has ended.
func logout(ctx context.Context, h worker.Hardware) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), logoutTimeout)
	defer cancel()
	h.Close(ctx)
}

// checkHardware checks the settings of a conductor that package config knows nothing about.
func checkHardware(c *config.Conductor) error {
	var unknown []string
	for _, name := range c.Drivers {
		if !slices.Contains(node.HardwareTypes(), name) {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 0 {
		return fmt.Errorf("enabled_drivers: no hardware type %s; want some of %s",
			strings.Join(unknown, ", "), strings.Join(node.HardwareTypes(), ", "))
	}
	if _, err := fake.ParseDelays(c.Fake); err != nil {
		return fmt.Errorf("fake: %w", err)
	}
	return nil
}

// outbound decides which addresses and CA files a role uses if users, BMCs or agents name them.
type outbound struct {
	image, bmc dial.Reach
	callbacks  agent.CallbackPolicy
	caDir      string
}

// newWebhookSender returns what sends to webhooks' endpoints; loopback allows those on this machine.
func newWebhookSender(r config.Webhooks, loopback bool) (*webhook.Sender, error) {
	allow, err := config.Networks(r.WebhookAllow)
	if err != nil {
		return nil, err
	}
	return webhook.NewSender(dial.Reach{Loopback: loopback, Allow: allow, Setting: "webhook_allow"}), nil
}

// newOutbound builds outbound from the settings; loopback allows addresses of this machine.
func newOutbound(r config.Reach, rules config.Rules, loopback bool) (outbound, error) {
	out := outbound{
		image: dial.Reach{Loopback: loopback, Setting: "image_allow"}, bmc: dial.Reach{Loopback: loopback, Setting: "bmc_allow"},
		callbacks: agent.CallbackPolicy{AllowHTTP: !rules.AgentTLS, AllowLoopback: loopback || rules.AgentLoopback}, caDir: r.CADir,
	}
	if r.ImageCA != "" {
		pool, err := tlsfile.Authorities(r.ImageCA)
		if err != nil {
			return outbound{}, fmt.Errorf("image_ca: %w", err)
		}
		out.image.Authorities = pool
	}
	for _, one := range []struct {
		list []string
		into *[]netip.Prefix
	}{{r.ImageAllow, &out.image.Allow}, {r.BMCAllow, &out.bmc.Allow}, {r.AgentAllow, &out.callbacks.Allow}} {
		networks, err := config.Networks(one.list)
		if err != nil {
			return outbound{}, err
		}
		*one.into = networks
	}
	return out, nil
}
