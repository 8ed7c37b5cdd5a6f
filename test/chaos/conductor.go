package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"syscall"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"go.temper.dev/temper/internal/dev"
)

// conductor is a conductor that the test stops at points.
type conductor struct {
	*dev.Running
	*post
	name string
}

// folder returns the folder of files that tell a process where to stop.
func (l *lab) folder(name string) string { return filepath.Join(filepath.Dir(l.shared.dir), name) }

// conductor starts a conductor; env is added to its environment.
func (l *lab) conductor(ctx context.Context, name string, env ...string) (*conductor, error) {
	p, err := newPost(l.folder(name))
	if err != nil {
		return nil, err
	}
	return l.join(ctx, name, p, env...)
}

// join starts a conductor with a folder that exists already.
func (l *lab) join(ctx context.Context, name string, p *post, env ...string) (*conductor, error) {
	run, err := l.Role(ctx, "conductor", name, append([]string{inGroup(l.group), p.env()}, env...), "--name", name, "--enabled-drivers", "redfish")
	if err != nil {
		return nil, fmt.Errorf("start conductor %s: %w", name, err)
	}
	return &conductor{Running: run, post: p, name: name}, nil
}

func (c *conductor) signal(sig syscall.Signal) error {
	if err := syscall.Kill(c.Pid(), sig); err != nil {
		return fmt.Errorf("send %s to %s: %w", sig, c.name, err)
	}
	return nil
}

// end stops the conductor, even if it is frozen. It is no error if it has ended.
func (c *conductor) end() error {
	if c == nil {
		return nil
	}
	select {
	case <-c.Done():
		return nil
	default:
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	return errors.Join(c.release(), c.signal(syscall.SIGCONT), c.Stop(ctx))
}

// lost returns how often the conductor was refused because another one has its work (temper_claims_lost_total).
func (c *conductor) lost(ctx context.Context) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.MetricsURL(), nil)
	if err != nil {
		return 0, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	p := expfmt.NewTextParser(model.LegacyValidation)
	all, err := p.TextToMetricFamilies(res.Body)
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for _, m := range all["temper_claims_lost_total"].GetMetric() {
		sum += m.GetCounter().GetValue()
	}
	return int(sum), nil
}
