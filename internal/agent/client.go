package agent

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"go.temper.dev/temper/internal/dial"
	"go.temper.dev/temper/internal/fault"
)

// Settings are the settings of clients of agents.
type Settings struct {
	// RequestTimeout is the timeout of a request, dialing included. It is shorter than the
	// heartbeat timeout of the steps, so that a request of a conductor that lost its claim
	// has ended before the next conductor sends one. Default 3.5 s.
	RequestTimeout time.Duration
	// SlowTimeout is the timeout of commands that only read and may take long on real
	// hardware (get_*_steps, get_hardware_info, get_partition_uuids, collect_system_logs).
	// Default 60 s, as Ironic's command_timeout.
	SlowTimeout time.Duration
	// MaxBody is the size of the largest answer in bytes. The list of commands repeats the
	// config drive of write_image, which may have 64 MiB; only the beginning of such a long
	// string is kept (limits.go). Default 72 MiB.
	MaxBody int64
	// Callback decides which addresses agents may have.
	Callback CallbackPolicy
}

// WithDefaults returns s with the defaults for the fields that are zero.
func (s Settings) WithDefaults() Settings {
	if s.RequestTimeout == 0 {
		s.RequestTimeout = 3500 * time.Millisecond
	}
	if s.SlowTimeout == 0 {
		s.SlowTimeout = time.Minute
	}
	if s.MaxBody == 0 {
		s.MaxBody = 72 << 20
	}
	return s
}

// Target is an agent, as its lookup and heartbeat describe it.
type Target struct {
	Node     string // the node's uuid, for errors
	URL      string // callback_url of the heartbeat
	Token    string // never in an error
	VerifyCA string // agent_verify_ca of the heartbeat, PEM; "" = the system's authorities

	// Guard is called right before each POST. If it returns an error, the request is not
	// sent and the caller gets that error. Steps use it to check that they still have their
	// claim. Nil means no guard.
	Guard func(context.Context) error
}

// Client is a client of one agent. It does not retry. If the answer to a POST is lost, it
// returns fault.Unreachable, and Next finds out from the agent's list whether the command
// arrived. A Client is safe for concurrent use. Close closes its idle connections.
type Client struct {
	target   Target
	host     string // with the port
	commands string // URL of /v1/commands/
	status   string
	settings Settings
	http     *http.Client
}

// NewClient checks the target and returns a client. It sends nothing.
func NewClient(t Target, s Settings) (*Client, error) {
	s = s.WithDefaults()
	if err := s.Callback.CheckURL(t.URL); err != nil {
		return nil, fmt.Errorf("agent of node %s: %w", t.Node, err)
	}
	if t.Token == "" {
		return nil, failed(fault.Invalid, "agent of node %s has no token", t.Node)
	}
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	if t.VerifyCA != "" {
		pool, err := certPool(t.VerifyCA)
		if err != nil {
			return nil, fmt.Errorf("agent of node %s: %w", t.Node, err)
		}
		conf.RootCAs = pool
	}
	dialer := &net.Dialer{Timeout: s.RequestTimeout, Control: s.Callback.reach().Control}
	base := strings.TrimRight(t.URL, "/")
	return &Client{
		target: t, settings: s, host: Host(t.URL),
		commands: base + "/v1/commands/", status: base + "/v1/status",
		http: &http.Client{
			// The token is in the query, and a redirect would send it to somebody else.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport: &http.Transport{
				DialContext: dial.WithoutLinger(dialer), TLSClientConfig: conf,
				TLSHandshakeTimeout: s.RequestTimeout, ResponseHeaderTimeout: s.SlowTimeout,
				IdleConnTimeout: 30 * time.Second, MaxIdleConns: 2, MaxConnsPerHost: 2,
				MaxResponseHeaderBytes: 64 << 10,
			},
		},
	}, nil
}

// Host returns the host and port of an agent's callback URL.
func Host(callback string) string {
	u, err := url.Parse(callback)
	if err != nil || u.Host == "" {
		return "an address that can't be read"
	}
	return u.Host
}

// Close closes the idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Commands returns the commands that the agent got since it booted, oldest first.
func (c *Client) Commands(ctx context.Context) ([]Result, error) {
	var list CommandList
	if err := c.get(ctx, "list commands", c.commands, &list); err != nil {
		return nil, err
	}
	if n := len(list.Commands); n > maxCommands {
		return nil, failed(fault.Refused, "list commands on the agent: the agent lists %d commands, more than %d", n, maxCommands)
	}
	return list.Commands, nil
}

// Command returns the command with that id. If the agent does not know the id, because it was
// rebooted, the error is fault.NotFound.
func (c *Client) Command(ctx context.Context, id string) (Result, error) {
	var r Result
	err := c.get(ctx, "read command "+id, c.commands+url.PathEscape(id), &r)
	return r, err
}

// Status returns since when the agent has been running, and its version.
func (c *Client) Status(ctx context.Context) (AgentStatus, error) {
	var s AgentStatus
	err := c.get(ctx, "read status", c.status, &s)
	return s, err
}

// Start sends an asynchronous command and returns as soon as the agent has accepted it.
func (c *Client) Start(ctx context.Context, name string, params any) (Result, error) {
	return c.post(ctx, name, params, false)
}

// Call sends a synchronous command and returns its result.
func (c *Client) Call(ctx context.Context, name string, params any) (Result, error) {
	return c.post(ctx, name, params, true)
}

// readOnlyCommands change nothing, so that they may have SlowTimeout: one that arrives late
// does no harm.
var readOnlyCommands = map[string]bool{
	GetDeploySteps: true, GetCleanSteps: true, GetServiceSteps: true, GetPartitionUUIDs: true, GetHardwareInfo: true, CollectLogs: true,
}

func (c *Client) post(ctx context.Context, name string, params any, wait bool) (Result, error) {
	if params == nil {
		params = struct{}{}
	}
	raw, err := json.Marshal(params)
	if err != nil {
		return Result{}, fault.New(fault.Internal, "encode %s: %w", name, err)
	}
	body, err := json.Marshal(Command{Name: name, Params: raw})
	if err != nil {
		return Result{}, fault.New(fault.Internal, "encode %s: %w", name, err)
	}
	timeout := c.settings.RequestTimeout
	if wait && readOnlyCommands[name] {
		timeout = c.settings.SlowTimeout
	}
	query := url.Values{"wait": {fmt.Sprint(wait)}, "agent_token": {c.target.Token}}
	if c.target.Guard != nil {
		if err := c.target.Guard(ctx); err != nil {
			return Result{}, err
		}
	}
	var r Result
	if err := c.do(ctx, timeout, name, http.MethodPost, c.commands, query, body, c.limits(name), &r); err != nil {
		return Result{}, err
	}
	if r.Status == Failed || r.Status.VersionsDiffer() {
		return r, c.commandError(name, r)
	}
	if r.Status == "" {
		return r, failed(fault.Unreachable, "%s on the agent: the answer has no command_status", name)
	}
	return r, nil
}

func (c *Client) get(ctx context.Context, what, at string, into any) error {
	query := url.Values{"agent_token": {c.target.Token}}
	return c.do(ctx, c.settings.RequestTimeout, what, http.MethodGet, at, query, nil, c.limits(what), into)
}
