package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"go.temper.dev/temper/api/boot"
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/api/images"
	"go.temper.dev/temper/api/intent"
	"go.temper.dev/temper/api/ironic"
	"go.temper.dev/temper/api/temper"
	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/dial"
	"go.temper.dev/temper/internal/events"
	"go.temper.dev/temper/internal/image"
	"go.temper.dev/temper/internal/imagecache"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/status"
	"go.temper.dev/temper/internal/webhook"
)

// Store is what the API reads and writes.
type Store interface {
	intent.Store
	httpd.AuditStore
	boot.Store
	images.Store
}

// Operations is how an operation that was written becomes work.
type Operations = intent.Operations

// Drivers checks what is said about a BMC without touching it.
type Drivers = intent.Drivers

// Auth says who may ask.
type Auth = httpd.Auth

// AgentSettings is what ramdisk agents are told and held to.
type AgentSettings = ironic.AgentSettings

// Ramdisk makes the CDs from which servers boot the agent.
type Ramdisk = boot.Ramdisk

// RamdiskFiles says from which files they are made.
type RamdiskFiles = boot.Files

// OpenRamdisk opens these files.
func OpenRamdisk(f RamdiskFiles) (*Ramdisk, error) { return boot.Open(f) }

// Missing says in an error of Config.Ready what is not there.
type Missing = temper.Missing

// The authentication strategies, in Ironic's words.
const (
	NoAuth    = httpd.NoAuth
	HTTPBasic = httpd.HTTPBasic
)

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
	// TrustedProxies are the networks of proxies whose word on the address of a client counts (X-Forwarded-For). Default: none.
	TrustedProxies []netip.Prefix
	Log            *zap.Logger           // default: none
	Metrics        prometheus.Registerer // default: none are registered

	// Ready says whether requests can be served in full: PostgreSQL and
	// Temporal answer. What is not there is told by a Missing. Default: ready.
	Ready func(context.Context) error
	// Ask asks PostgreSQL and Temporal whether they answer, each under a deadline of its own.
	// Default: both do.
	Ask func(context.Context) status.Dependencies
	// Setup compares what is in Temporal with what this version of Temper wants; nil = Temporal does not tell. Default: it does not.
	Setup func(context.Context) *status.Setup
	// Version is that of the program. Default: none.
	Version string
	// Settings is the file from which this process has its settings; commands that start another role name it. Default: none.
	Settings string
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

	// RequestTimeout bounds a request's work, body included, except a stream's. Default 60 s.
	RequestTimeout time.Duration
	// StartTimeout bounds the call to Operations after a commit. Default 1 s.
	StartTimeout time.Duration
	// AnswerWithin is how long a request to the management interface, and a reading of a BMC, is waited for. Clients get an
	// error then, and the operation goes on. Default 25 s.
	AnswerWithin time.Duration
	// NodeLockedWait is how long a request that meets a short operation, such as a change of power, waits for its end. Default:
	// it is refused at once.
	NodeLockedWait time.Duration
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
	// OwnNodes lets administrators and services of a project create and delete nodes that their project owns.
	OwnNodes bool
	// OnFailure is what operations do when a step has failed for good, where the
	// request does not say. Default: fail.
	OnFailure node.OnFailure
	// Safe is how long after the end of a workflow something of it may still act.
	// Default 9 s.
	Safe time.Duration
	// HardwareDeadline is how long one request to hardware usually takes at most. One that
	// may take longer is recorded, and the next operation of the node waits for it. Default 4 s.
	HardwareDeadline time.Duration
	// ReconcileLate is from what age on of the last reconciliation people are told
	// that no orchestrator runs. Default 45 s.
	ReconcileLate time.Duration
	// EventStreams bounds the event streams of this process at a time, and
	// EventStreamsPerUser those of one user who has logged in. Default 2500 and 1000.
	EventStreams, EventStreamsPerUser int
	// Webhooks says to which addresses webhooks may be sent, and tests them. Default: none on this machine or its links.
	Webhooks temper.WebhookSender
	// Images is which images are accepted.
	Images image.Policy
	// ProbeImage fetches what can be checked of an image before a request is answered (image.Resolver.Probe). nil = nothing is fetched.
	ProbeImage func(context.Context, image.Info) (int64, error)
	// Agent is the settings for ramdisk agents.
	Agent AgentSettings
	// Boot says where servers boot the agent from CDs that Temper makes, and Ramdisk has the image from which it makes them. nil = it
	// makes none.
	Boot    node.BootSites
	Ramdisk *Ramdisk
	// Discovery lets servers that are not enrolled boot the agent once, by network, and keeps what it finds on them.
	Discovery bool
	// ImageCache has the images that are served to agents; nil = none are.
	ImageCache *imagecache.Cache
}

func (c Config) withDefaults() Config {
	if c.Ready == nil {
		c.Ready = func(context.Context) error { return nil }
	}
	if c.Ask == nil {
		c.Ask = func(context.Context) status.Dependencies { return status.Dependencies{} }
	}
	if c.Setup == nil {
		c.Setup = func(context.Context) *status.Setup { return nil }
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
	if c.StartTimeout == 0 {
		c.StartTimeout = time.Second
	}
	if c.AnswerWithin == 0 {
		c.AnswerWithin = 25 * time.Second
	}
	if c.MaxLimit == 0 {
		c.MaxLimit = 1000
	}
	if c.EventStreams == 0 {
		c.EventStreams = 2500
	}
	if c.EventStreamsPerUser == 0 {
		c.EventStreamsPerUser = 1000
	}
	if c.Webhooks == nil {
		c.Webhooks = webhook.NewSender(dial.Reach{})
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

// discoveries is what servers boot that are not enrolled; nil = nothing.
func (c Config) discoveries() *node.Medium {
	if !c.Discovery {
		return nil
	}
	m := c.Boot.Discovery()
	return &m
}

// Server answers the API. It is safe for concurrent use.
type Server struct {
	http   *httpd.Server
	events *events.Hub
}

// New makes a Server.
func New(c Config) (*Server, error) {
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("make the API: %w", err)
	}
	c = c.withDefaults()
	service := intent.New(intent.Config{
		Store: c.Store, Operations: c.Operations, Drivers: c.Drivers, WorkflowURL: c.WorkflowURL, Now: c.Now,
		StartTimeout: c.StartTimeout, AnswerWithin: c.AnswerWithin, HardwareDeadline: c.HardwareDeadline, Safe: c.Safe, MaxLimit: c.MaxLimit, Settings: c.Settings,
		NodeLockedWait: c.NodeLockedWait, Log: c.Log,
		AutomatedClean: c.AutomatedClean, DedicatedNodes: c.DedicatedNodes, AutomaticLessee: c.AutomaticLessee, OwnNodes: c.OwnNodes,
		OnFailure: c.OnFailure, Discovery: c.Discovery, Images: c.Images, Boot: c.Boot, ProbeImage: c.ProbeImage,
	})
	theirs, err := ironic.New(service, c.Agent, c.Metrics)
	if err != nil {
		return nil, err
	}
	hub := events.NewHub(events.Config{Source: c.Store, Log: c.Log, Streams: c.EventStreams, PerUser: c.EventStreamsPerUser})
	ours, err := temper.New(service, temper.Config{Ready: c.Ready, Ask: c.Ask, Setup: c.Setup, Version: c.Version, Reconcile: c.Reconcile, ReconcileLate: c.ReconcileLate, Events: hub, Webhooks: c.Webhooks}, c.Metrics)
	if err != nil {
		return nil, err
	}
	http, err := httpd.New(httpd.Config{
		Auth: c.Auth, Listen: c.Listen, AllowedHosts: c.AllowedHosts, TrustedProxies: c.TrustedProxies, PublicURL: c.PublicURL, Log: c.Log, Metrics: c.Metrics,
		Now: c.Now, Audit: c.Store, RequestTimeout: c.RequestTimeout, Unversioned: ironic.RootResources(), CurrentURL: ironic.CurrentURL, Subjects: service.Subjects(), NotFound: ironic.NotFound,
	}, slices.Concat(theirs.Routes(), ours.Routes(), boot.New(c.Store, c.Ramdisk, c.discoveries()).Routes(), images.New(c.Store, c.ImageCache, c.Images).Routes()))
	if err != nil {
		return nil, err
	}
	return &Server{http, hub}, nil
}

// Handler is the whole API. Timeouts of connections are the http.Server's.
func (s *Server) Handler() http.Handler { return s.http.Handler() }

// Door is what a listener serves.
type Door = httpd.Door

// Audience is whom a Door is for.
type Audience = httpd.Audience

// The audiences.
const (
	Clients = httpd.Clients
	Agents  = httpd.Agents
	BMCs    = httpd.BMCs
)

// Through is the part of the API that a listener serves.
func (s *Server) Through(d Door) http.Handler { return s.http.Through(d) }

// EndStreams ends every stream, and the connection to the database that they share. It is for
// http.Server.RegisterOnShutdown, because Shutdown waits for requests.
func (s *Server) EndStreams() {
	s.http.EndStreams()
	s.events.Close()
}

// Reasons returns what is missing according to err, an error of Config.Ready, in
// sentences that unauthenticated clients may read. It is empty if err is nil.
func Reasons(err error) []string { return temper.Reasons(err) }
