package api

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/basicauth"
	"go.temper.dev/temper/internal/image"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/origin"
)

// Operations is how an intent that is written becomes work. The row is the
// truth: an error here is logged and left to reconciliation.
type Operations interface {
	// Start starts the workflow of an operation that was just committed.
	Start(ctx context.Context, o *node.Operation) error
	// Cancel asks the workflow of o to stop and undo.
	Cancel(ctx context.Context, o *node.Operation, reason string) error
	// Nudge tells the workflow of o to read its row: somebody asked for
	// something, or an agent came up.
	Nudge(ctx context.Context, o *node.Operation) error
	// Decide has the workflow of o, which holds at a step that failed, take a
	// decision, and returns when it has. fault.Conflict, NotAllowed or Invalid
	// where it refuses; fault.Unavailable where it can't be had in time, fault.Lost
	// where it has ended.
	Decide(ctx context.Context, o *node.Operation, a node.Action, by, reason string) error
	// Status is what Temporal knows of o's run, without RunID of the newest; an
	// error where it can't be asked.
	Status(ctx context.Context, o *node.Operation) (node.RunStatus, error)
	// Unpause unpauses o's workflow or its activity in Temporal. It does nothing if
	// neither is paused.
	Unpause(ctx context.Context, o *node.Operation, by, reason string) error
	// Terminate ends the workflow of o without letting it do anything.
	Terminate(ctx context.Context, o *node.Operation, reason string) error
}

// Drivers checks what is said about a BMC without touching it.
type Drivers interface {
	// Validate checks driver_info; fault.Invalid names what is missing or wrong.
	Validate(driver string, info map[string]any) error
}

// Config is what a Server needs. Fields without a default are required.
type Config struct {
	Store      Store
	Operations Operations
	Drivers    Drivers
	Auth       Auth
	// Listen is the address that the API listens on. On loopback only requests to
	// loopback's names, to PublicURL's and to AllowedHosts are answered. Default: any.
	Listen       string
	AllowedHosts []string
	Log          *zap.Logger           // default: none
	Metrics      prometheus.Registerer // default: none are registered

	// Ready says whether requests can be served in full: PostgreSQL and
	// Temporal answer. What is not there is told by a Missing. Default: ready.
	Ready func(context.Context) error
	// Reconcile runs the reconciliation now or, where one runs, once more after
	// it. Default: there is none to run.
	Reconcile func(context.Context) error
	// WorkflowURL is where Temporal's UI shows an operation; "" = nowhere. Default: nowhere.
	WorkflowURL func(*node.Operation) string
	// PublicURL stands before every link, without a trailing slash. Default:
	// http:// and the request's Host.
	PublicURL string
	// Now is the clock. Default: time.Now.
	Now func() time.Time

	// RequestTimeout bounds a request's work, body included. Default 60 s.
	RequestTimeout time.Duration
	// StartTimeout bounds the call to Operations after a commit. Default 1 s.
	StartTimeout time.Duration
	// MaxLimit bounds the length of every list and is its default. Default 1000.
	MaxLimit int

	// AutomatedClean says whether nodes are cleaned before they become
	// available where they do not say so themselves.
	AutomatedClean bool
	// DedicatedNodes keeps nodes with an owner or lessee from allocations
	// without an owner, unless these name the node.
	DedicatedNodes bool
	// AutomaticLessee makes the project of an instance (instance_info.project_id)
	// the lessee of a node that has none, until the instance goes.
	AutomaticLessee bool
	// OnFailure is what operations do when a step has failed for good, where the
	// request does not say. Default: fail.
	OnFailure node.OnFailure
	// Safe is how long after the end of a workflow something of it may still act.
	// Default 9 s.
	Safe time.Duration
	// HardwareDeadline is how long one request to hardware takes at most: after it
	// nothing of a claim that was ended acts any more. Default 4 s.
	HardwareDeadline time.Duration
	// ReconcileLate is from what age on of the last reconciliation people are told
	// that no orchestrator runs. Default 45 s.
	ReconcileLate time.Duration
	// Images is which images are accepted.
	Images image.Policy
	// Agent is what ramdisk agents are told and held to.
	Agent AgentSettings
}

// AgentSettings is what ramdisk agents are told and held to.
type AgentSettings struct {
	// HeartbeatTimeout is the longest silence an agent may keep. Default 300 s.
	HeartbeatTimeout time.Duration
	// Callback says which callback URLs are believed.
	Callback agent.CallbackPolicy
	// ImageFormats an agent may write. Default raw, gpt, qcow2, iso, as in Ironic.
	ImageFormats []string
}

func (c Config) withDefaults() Config {
	if c.Log == nil {
		c.Log = zap.NewNop()
	}
	if c.Ready == nil {
		c.Ready = func(context.Context) error { return nil }
	}
	if c.WorkflowURL == nil {
		c.WorkflowURL = func(*node.Operation) string { return "" }
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Safe == 0 {
		c.Safe = 9 * time.Second
	}
	if c.HardwareDeadline == 0 {
		c.HardwareDeadline = 4 * time.Second
	}
	if c.ReconcileLate == 0 {
		c.ReconcileLate = 45 * time.Second
	}
	if c.RequestTimeout == 0 {
		c.RequestTimeout = time.Minute
	}
	if c.StartTimeout == 0 {
		c.StartTimeout = time.Second
	}
	if c.MaxLimit == 0 {
		c.MaxLimit = 1000
	}
	if c.Agent.HeartbeatTimeout == 0 {
		c.Agent.HeartbeatTimeout = 5 * time.Minute
	}
	if c.Agent.ImageFormats == nil {
		c.Agent.ImageFormats = []string{agent.FormatRaw, agent.FormatGPT, agent.FormatQCOW2, agent.FormatISO}
	}
	return c
}

func (c Config) validate() error {
	var errs []error
	if c.Store == nil {
		errs = append(errs, errors.New("no store"))
	}
	if c.Operations == nil {
		errs = append(errs, errors.New("no operations"))
	}
	if c.Drivers == nil {
		errs = append(errs, errors.New("no drivers"))
	}
	if c.MaxLimit < 0 {
		errs = append(errs, errors.New("the list limit is negative"))
	}
	return errors.Join(errs...)
}

// hosts returns the host names that requests may have in their Host header, besides loopback's.
func (c Config) hosts() []string {
	hosts := slices.Clone(c.AllowedHosts)
	if u, err := url.Parse(c.PublicURL); err == nil && u.Host != "" {
		hosts = append(hosts, u.Host)
	}
	return hosts
}

// Server answers the API. It is safe for concurrent use.
type Server struct {
	Config
	auth    *basicauth.Authenticator // nil: everybody may
	guard   *origin.Guard
	metrics *metrics
	refused *refusals
	intake  *intake
	engine  *gin.Engine
}

// New makes a Server.
func New(c Config) (*Server, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	c = c.withDefaults()
	auth, err := newAuthenticator(c.Auth, c.Now, c.Log)
	if err != nil {
		return nil, err
	}
	m, err := newMetrics(c.Metrics, c.Store)
	if err != nil {
		return nil, err
	}
	refused, err := newRefusals(c.Metrics)
	if err != nil {
		return nil, err
	}
	s := &Server{
		Config: c, auth: auth, guard: origin.NewGuard(c.Listen, c.hosts()), metrics: m, refused: refused, intake: newIntake(refused),
	}
	s.engine = s.routes()
	return s, nil
}

// Handler is the whole API. Timeouts of connections are the http.Server's.
func (s *Server) Handler() http.Handler { return tidyPath(s.engine) }
