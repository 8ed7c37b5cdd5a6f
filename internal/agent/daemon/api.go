//go:build linux

package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/agent/lldp"
	"go.temper.dev/temper/internal/jsonvalue"
	"go.temper.dev/temper/internal/mask"
)

// The microversions of the requests (ironic_python_agent, ironic_api_client.py).
const (
	lookupVersion     = "1.62"
	heartbeatVersion  = "1.68"
	inspectionVersion = "1.84"
)

const (
	requestTimeout = 30 * time.Second // of a request to the API
	answerLimit    = 4 << 20          // bytes of an answer
	skewLimit      = 5 * time.Minute  // between our clock and the API's before it is told
)

// send sends a request to the API and returns its answer.
func (a *Agent) send(ctx context.Context, method, at, version string, body any) (int, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var in io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return 0, nil, err
		}
		in = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, at, in)
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "temper-agent/"+a.Version)
	req.Header.Set("X-OpenStack-Ironic-API-Version", version)
	res, err := a.API.Do(req)
	if err != nil {
		return 0, nil, errors.New(mask.URLs(err.Error()))
	}
	defer res.Body.Close()
	a.compareClocks(res.Header.Get("Date"))
	b, err := io.ReadAll(io.LimitReader(res.Body, answerLimit))
	return res.StatusCode, b, err
}

// compareClocks tells once that the machine's clock is wrong. Nothing of the agent depends on it, but certificates of image servers do.
func (a *Agent) compareClocks(date string) {
	there, err := http.ParseTime(date)
	if err != nil {
		return
	}
	skew := time.Since(there)
	a.mu.Lock()
	defer a.mu.Unlock()
	if skew.Abs() > skewLimit && !a.skewTold {
		a.skewTold = true
		a.Log.Warn("the clock of this machine is wrong: certificates of image servers may be refused", zap.Duration("ahead_of_api_by", skew.Round(time.Second)))
	}
}

// pauses are the pauses between two lookups: they grow up to a minute, and are random, so that a rack that gets power at once does not
// ask at once.
type pauses struct{ attempt int }

func (p *pauses) NextBackOff() time.Duration {
	p.attempt++
	return agent.LookupDelay(p.attempt, rand.Float64()) //nolint:gosec // it spreads load
}

func (p *pauses) Reset() { p.attempt = 0 }

// forever repeats f until it succeeds or ctx ends. While this machine has no address yet, it is repeated each second: that costs
// nobody anything.
func forever[T any](ctx context.Context, f func() (T, error)) (T, error) {
	try := func() (T, error) {
		v, err := f()
		if errors.Is(err, unix.ENETUNREACH) {
			err = backoff.RetryAfter(1)
		}
		return v, err
	}
	return backoff.Retry(ctx, try, backoff.WithBackOff(&pauses{}), backoff.WithMaxElapsedTime(0), backoff.WithMaxTries(0))
}

// lookUp finds the agent's node, however long that takes.
func (a *Agent) lookUp(ctx context.Context, node string) error {
	conflicts := 0
	_, err := forever(ctx, func() (struct{}, error) {
		var last error
		for _, api := range a.APIURLs {
			status, err := a.lookUpOnce(ctx, strings.TrimRight(api, "/"), node)
			if err == nil {
				return struct{}{}, nil
			}
			last = fmt.Errorf("look the node up at %s: %w", mask.URLs(api), err)
			if status == http.StatusConflict {
				conflicts++
				last = backoff.RetryAfter(int(agent.LookupConflictDelay(conflicts).Seconds()))
			}
		}
		a.Log.Warn("the node is not found yet", zap.Error(last))
		return struct{}{}, last
	})
	return err
}

// lookUpOnce sends one lookup and applies the answer.
func (a *Agent) lookUpOnce(ctx context.Context, api, node string) (int, error) {
	inventory := a.inventory()
	q := url.Values{"addresses": {strings.Join(inventory.MACs(), ",")}}
	if node != "" {
		q.Set("node_uuid", node)
	}
	status, b, err := a.send(ctx, http.MethodGet, api+"/v1/lookup?"+q.Encode(), lookupVersion, nil)
	switch {
	case err != nil:
		return 0, err
	case status != http.StatusOK:
		return status, fmt.Errorf("the API answered %d: %s", status, agent.OneLine(string(b)))
	}
	var l agent.Lookup
	if err := jsonvalue.Unmarshal(b, &l); err != nil {
		return status, fmt.Errorf("the answer can't be read: %w", err)
	}
	if l.Node.UUID == "" || l.Config.HeartbeatTimeout <= 0 {
		return status, errors.New("the answer has no node or no heartbeat timeout")
	}
	return status, a.applyLookup(api, l)
}

// applyLookup keeps what a lookup says. The token is told once; whoever has none afterwards can't prove who it is.
func (a *Agent) applyLookup(api string, l agent.Lookup) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.api, a.node, a.settings = api, l.Node, l.Config
	switch token := l.Config.AgentToken; {
	case a.Token != "":
		a.id.Token = a.Token
	case len(token) >= agent.MinToken:
		a.id.Token = token
	case a.id.Token == "" && l.Config.AgentTokenRequired:
		return errors.New("the API keeps the token of this node's agent to itself: another agent has it, or an earlier one had. " +
			"The next operation of the node makes a new one")
	}
	return a.id.save(a.StateFile)
}

// sourceAddress returns the address of this machine from which a URL is reached.
func sourceAddress(ctx context.Context, of string) (string, error) {
	u, err := url.Parse(of)
	if err != nil {
		return "", err
	}
	port := u.Port()
	if port == "" {
		port = "80"
	}
	c, err := (&net.Dialer{}).DialContext(ctx, "udp", net.JoinHostPort(u.Hostname(), port)) // sends nothing
	if err != nil {
		return "", err
	}
	defer c.Close()
	host, _, err := net.SplitHostPort(c.LocalAddr().String())
	return host, err
}

// heartbeat tells the API where the agent is.
func (a *Agent) heartbeat(ctx context.Context) error {
	a.mu.Lock()
	h := agent.Heartbeat{CallbackURL: a.callback, AgentToken: a.id.Token, AgentVersion: a.Version, AgentVerifyCA: a.id.Cert}
	at := a.api + "/v1/heartbeat/" + a.node.UUID
	a.mu.Unlock()
	status, b, err := a.send(ctx, http.MethodPost, at, heartbeatVersion, h)
	if err != nil {
		return err
	}
	if status != http.StatusAccepted {
		return fmt.Errorf("the API answered %s: %s", strconv.Itoa(status), agent.OneLine(string(b)))
	}
	return nil
}

// heartbeats sends them until ctx ends, the agent is locked, or the command API has ended.
func (a *Agent) heartbeats(ctx context.Context, ended chan error) {
	due := time.NewTimer(0)
	defer due.Stop()
	last := time.Time{}
	for {
		select {
		case <-ctx.Done():
			return
		case err := <-ended:
			ended <- err
			return
		case <-a.force:
			due.Reset(max(0, agent.MinHeartbeat-time.Since(last)))
			continue
		case <-due.C:
		}
		a.mu.Lock()
		locked, timeout := a.locked, time.Duration(a.settings.HeartbeatTimeout)*time.Second
		a.mu.Unlock()
		if locked {
			<-ctx.Done()
			return
		}
		last = time.Now()
		if err := a.heartbeat(ctx); err != nil {
			a.Log.Warn("the API did not take a heartbeat", zap.Error(err))
			due.Reset(agent.HeartbeatRetry(rand.Float64())) //nolint:gosec // it spreads load
			continue
		}
		due.Reset(agent.HeartbeatDelay(timeout, rand.Float64())) //nolint:gosec // it spreads load
	}
}

// inspect posts the inventory, and returns the node's uuid if the API knows it. If it fails, the agent goes on with its lookup.
func (a *Agent) inspect(ctx context.Context) (node string) {
	inventory := a.inventory()
	body := agent.Inspection{Inventory: &inventory, Plugin: map[string]json.RawMessage{}}
	if disk, found := a.rootDisk(ctx); found == nil {
		for _, d := range inventory.Disks {
			if string(d.Name) == disk {
				body.Plugin["root_disk"], _ = json.Marshal(d) // plain values encode
			}
		}
	}
	body.Plugin["pci_devices"], _ = json.Marshal(a.Machine.PCIDevices()) // plain values encode
	a.addLLDP(ctx, &body)
	node, err := backoff.Retry(ctx, func() (string, error) {
		status, b, err := a.send(ctx, http.MethodPost, a.InspectionURL, inspectionVersion, body)
		switch {
		case err != nil:
			return "", err
		case status == http.StatusConflict || status >= http.StatusInternalServerError:
			return "", fmt.Errorf("the API answered %d: %s", status, agent.OneLine(string(b)))
		case status >= http.StatusBadRequest:
			return "", backoff.Permanent(fmt.Errorf("the API answered %d: %s", status, agent.OneLine(string(b))))
		}
		var in agent.InspectionAnswer
		if jsonvalue.Unmarshal(b, &in) == nil && in.Node != nil {
			return in.Node.UUID, nil
		}
		return in.UUID, nil
	}, backoff.WithBackOff(&inspectionPauses{}), backoff.WithMaxTries(agent.InspectionAttempts), backoff.WithMaxElapsedTime(0))
	if err != nil {
		a.Log.Warn("the inventory was not taken; the lookup follows all the same", zap.Error(err))
	}
	return node
}

// addLLDP adds what switches have sent: to each interface, and as ironic-python-agent's collector of that name sends it.
func (a *Agent) addLLDP(ctx context.Context, body *agent.Inspection) {
	if a.LLDP == nil || a.MACs != nil {
		return
	}
	found, err := a.LLDP(ctx, a.Machine.Links())
	if err != nil {
		a.Log.Warn("not every network interface could be listened on", zap.Error(err))
	}
	for i := range body.Inventory.Interfaces {
		if tlvs := found[string(body.Inventory.Interfaces[i].Name)]; tlvs != nil {
			body.Inventory.Interfaces[i].LLDP, _ = json.Marshal(tlvs) // plain values encode
		}
	}
	if found == nil {
		found = map[string][]lldp.TLV{}
	}
	body.Plugin["lldp_raw"], _ = json.Marshal(found)
}

// inspectionPauses are the pauses between two posts of the inventory.
type inspectionPauses struct{ attempt int }

func (p *inspectionPauses) NextBackOff() time.Duration {
	p.attempt++
	return agent.InspectionDelay(p.attempt)
}

func (p *inspectionPauses) Reset() { p.attempt = 0 }
