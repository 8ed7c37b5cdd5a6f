package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/dev"
)

// pollEvery is how often states are read.
const pollEvery = 200 * time.Millisecond

// show runs the demonstration.
func (s *stack) show(ctx context.Context) error {
	names, err := s.enroll(ctx)
	if err != nil {
		return err
	}
	if err := s.move(ctx, "Verifying", names, "manage", "manageable", nil); err != nil {
		return err
	}
	if err := s.move(ctx, "Cleaning", names, "provide", "available", nil); err != nil {
		return err
	}
	chosen := names[:deploys]
	digest, err := s.prepare(ctx, chosen)
	if err != nil {
		return err
	}
	before, err := s.servers(ctx)
	if err != nil {
		return err
	}
	loss := &loss{stack: s}
	if err := s.move(ctx, "Deploying", chosen, "active", "active", loss.look); err != nil {
		return err
	}
	if err := s.judge(ctx, chosen, digest, before, loss); err != nil {
		return err
	}
	back := chosen[:giveBack]
	if err := s.move(ctx, "Giving back", back, "deleted", "available", nil); err != nil {
		return err
	}
	nodes, err := s.nodes(ctx)
	if err != nil {
		return err
	}
	for _, name := range back {
		s.out.say("  %s is %s, %s", name, nodes[name].State, nodes[name].Power)
	}
	return nil
}

// enroll enrols every server.
func (s *stack) enroll(ctx context.Context) ([]string, error) {
	nodes, err := dev.RackNodes(ctx, s.RackURL, map[string]int{"redfish": servers})
	if err != nil {
		return nil, fmt.Errorf("list what to enrol: %w", err)
	}
	if len(nodes) != servers {
		return nil, fmt.Errorf("the rack has %d servers, not %d", len(nodes), servers)
	}
	s.out.say("Enrolling %d nodes", len(nodes))
	api, err := client.New(client.Config{URL: s.APIURL})
	if err != nil {
		return nil, err
	}
	defer api.Close()
	if err := dev.Enroll(ctx, api, nodes); err != nil {
		return nil, err
	}
	var names []string
	for _, n := range nodes {
		names = append(names, n.Name)
	}
	slices.Sort(names)
	return names, nil
}

// move requests a provision state for nodes and shows their progress until all are in it. It returns an error if a node
// fails. It calls look, if not nil, each time that it has read the states.
func (s *stack) move(ctx context.Context, doing string, names []string, verb, state string, look func(context.Context) error) error {
	s.out.say("%s %d nodes", doing, len(names))
	began := time.Now()
	if err := s.provision(ctx, names, verb); err != nil {
		return err
	}
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		done, err := s.look(ctx, names, state)
		if err != nil {
			return err
		}
		if look != nil {
			if err := look(ctx); err != nil {
				return err
			}
		}
		if done {
			s.out.say("  all %d are %s after %.1f s", len(names), state, time.Since(began).Seconds())
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// look shows the nodes' progress, and reports whether all are in the state.
func (s *stack) look(ctx context.Context, names []string, state string) (done bool, err error) {
	nodes, err := s.nodes(ctx)
	if err != nil {
		return false, err
	}
	open, err := s.operations(ctx, "state=running")
	if err != nil {
		return false, err
	}
	var states, work []string
	done = true
	for _, name := range names {
		n := nodes[name]
		states = append(states, n.State)
		done = done && n.State == state
		if isFailed(n.State) {
			err = errors.Join(err, fmt.Errorf("node %s is in %s: %s", name, n.State, n.LastError))
		}
	}
	for _, o := range open {
		if i := o.atWork(); i >= 0 {
			work = append(work, "on "+o.Steps[i].Conductor)
		}
	}
	line := tally(states)
	if len(work) > 0 {
		line += "; steps at work: " + tally(work)
	}
	s.out.progress(line)
	return done, err
}

// isFailed reports whether a state is one in which a node stays after a failure.
func isFailed(state string) bool { return strings.HasSuffix(state, "failed") || state == "error" }

// prepare sets the rack's image in the nodes, and returns its digest.
func (s *stack) prepare(ctx context.Context, names []string) (string, error) {
	url := s.RackURL + "/images/disk.raw"
	digest, err := digestOf(ctx, url)
	if err != nil {
		return "", fmt.Errorf("fetch the image: %w", err)
	}
	s.out.say("Image %s, sha256 %s...", url, digest[:12])
	patch := []map[string]any{
		{"op": "add", "path": "/instance_info/image_source", "value": url},
		{"op": "add", "path": "/instance_info/image_os_hash_algo", "value": "sha256"},
		{"op": "add", "path": "/instance_info/image_os_hash_value", "value": digest},
		{"op": "add", "path": "/instance_info/image_disk_format", "value": "raw"},
	}
	return digest, each(names, func(name string) error {
		if err := dev.Call(ctx, http.MethodPatch, s.APIURL+"/v1/nodes/"+name, patch, nil); err != nil {
			return fmt.Errorf("name the image in node %s: %w", name, err)
		}
		return nil
	})
}

// digestOf fetches the file at url and returns its digest.
func digestOf(ctx context.Context, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s answers %s", url, res.Status)
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(res.Body, 1<<30)); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
