package intent

import (
	"context"
	"time"

	"go.uber.org/zap"

	"go.temper.dev/temper/internal/image"
	"go.temper.dev/temper/internal/lockwait"
	"go.temper.dev/temper/internal/node"
)

// Config is what handlers need, whatever their resource. Package api documents the
// settings and sets their defaults.
type Config struct {
	Store      Store
	Operations Operations
	Drivers    Drivers

	WorkflowURL func(*node.Operation) string
	Now         func() time.Time

	StartTimeout     time.Duration
	AnswerWithin     time.Duration
	HardwareDeadline time.Duration
	Safe             time.Duration
	Settings         string // the file from which this process has its settings; "" = none
	MaxLimit         int
	NodeLockedWait   time.Duration // how long a request waits for the end of a short operation; 0 = it is refused at once
	Log              *zap.Logger

	AutomatedClean  bool
	DedicatedNodes  bool
	AutomaticLessee bool
	OwnNodes        bool // whether a project's administrators create and delete its nodes
	OnFailure       node.OnFailure
	Discovery       bool // whether servers are kept that are not enrolled
	Images          image.Policy
	Boot            node.BootSites // where servers boot the agent from CDs that Temper makes
	// ProbeImage fetches what can be checked of an image, and returns how many bytes it needs on a disk (0 = not
	// known). nil = images are not fetched.
	ProbeImage func(context.Context, image.Info) (int64, error)
}

// Service is what handlers are built on. It is safe for concurrent use.
type Service struct {
	Config
	queues *lockwait.Queues
	starts chan struct{} // has one element for each workflow that is being started
}

// New makes a Service.
func New(c Config) *Service {
	return &Service{c, lockwait.New(lockwait.Config{Ends: c.Store, Wait: c.NodeLockedWait, Log: c.Log}), make(chan struct{}, startsAtOnce)}
}
