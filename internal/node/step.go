package node

import (
	"time"

	"go.temper.dev/temper/internal/fault"
)

// Source says where a step comes from.
type Source string

// The sources. Core steps frame an operation (prepare, tear down); Ironic has
// them as code, so clients do not see them as deploy_step or clean_step.
const (
	SourceCore   Source = "core"
	SourceDriver Source = "driver" // out of band, run by the conductor against the BMC
	SourceAgent  Source = "agent"  // in band, run by the ramdisk agent
)

// StepState is how far a step is.
type StepState string

// The step states.
const (
	StepPending StepState = "pending"
	StepRunning StepState = "running"
	StepWaiting StepState = "waiting" // begun, and nobody is at work: for the agent or for a person
	StepDone    StepState = "done"
	StepFailed  StepState = "failed"
	StepSkipped StepState = "skipped"
	// StepCancelled was begun, and its operation was ended by request.
	StepCancelled StepState = "cancelled"
)

// Step is one step of an operation. Interface, Step, Priority and Args are as in
// Ironic's deploy and clean steps. Secret arguments are Masked here.
type Step struct {
	Index     int            `json:"index"`
	Interface string         `json:"interface"`
	Step      string         `json:"step"`
	Priority  int            `json:"priority"`
	Args      map[string]any `json:"args,omitempty"`
	Abortable bool           `json:"abortable,omitempty"`
	Source    Source         `json:"source"`
	// Asked marks steps that the request named; without it a step came by its priority.
	Asked bool `json:"asked,omitempty"`
	// Cleaning marks the steps of the cleaning half of an undeploy.
	Cleaning bool `json:"cleaning,omitempty"`

	State     StepState  `json:"state"`
	Attempts  int        `json:"attempts"`             // times begun
	Failures  int        `json:"failures,omitempty"`   // times it failed by itself; crashes of conductors do not count
	Limit     int        `json:"limit,omitempty"`      // how often it may fail, by the settings of the conductor that began it; 0 = not begun
	BusySince *time.Time `json:"busy_since,omitempty"` // the first of the answers "later" in a row; nil = the last error was another one
	// SilentSince is since when its BMC gives no answer; nil = the last error was another one, or the BMC has answered
	// since then, while the step waited for the effect of a request.
	SilentSince *time.Time `json:"silent_since,omitempty"`
	// SilentUntil is when the step fails if the BMC stays silent, the last try included. It stays as it was told first.
	SilentUntil *time.Time `json:"silent_until,omitempty"`
	// FirstSilentAt is when its BMC gave no answer for the first time in this phase of the step; nil = it always did.
	FirstSilentAt *time.Time `json:"first_silent_at,omitempty"`
	Conductor     string     `json:"conductor,omitempty"`
	Usual         *Usual     `json:"usual,omitempty"` // how long it usually takes, as was known when it began; nil = not known
	StartedAt     *time.Time `json:"started_at,omitempty"`
	EndedAt       *time.Time `json:"ended_at,omitempty"`
	LastError     string     `json:"last_error,omitempty"`
	Cause         fault.Code `json:"cause,omitempty"` // of LastError; without one, why it took unusually long
	Note          string     `json:"note,omitempty"`  // why it was skipped or begun anew without a person's request

	// Deaths are the conductors that died of the step in a row. Progress, a failure,
	// a try that lasts longer and a decision to retry clear the list.
	Deaths    []Death    `json:"deaths,omitempty"`
	NotBefore *time.Time `json:"not_before,omitempty"` // the next try is put off until then
	PutOffs   int        `json:"put_offs,omitempty"`   // how often a try was put off
	// Spared counts the deaths that were cleared only because the hardware answered
	// in the next try. UndoDeaths are the deaths during the undo that begins at this step.
	Spared     int     `json:"spared,omitempty"`
	UndoDeaths []Death `json:"undo_deaths,omitempty"`

	// Restarts counts how often it was begun anew because its agent was lost, and
	// Restarting is set until the agent that is booted for that has called.
	Restarts   int  `json:"restarts,omitempty"`
	Restarting bool `json:"restarting,omitempty"`

	// OnAgain counts how often the server was found on again after the step had seen it
	// off, since its last failure.
	OnAgain int `json:"on_again,omitempty"`

	// BootsAgain counts how often the server was switched off and on again because it showed no sign of booting.
	BootsAgain int `json:"boots_again,omitempty"`

	// Issued is the request that is recorded before it is sent, so that another conductor
	// knows of it: an agent's command, a pulse, a task's URI.
	Issued *Issued `json:"issued,omitempty"`
	// MediumInserted reports whether the medium that it has inserted for this boot was seen in the drive.
	MediumInserted bool `json:"medium_inserted,omitempty"`
	// Subscription is what the step has created, without its Destination.
	Subscription *EventSubscription `json:"subscription,omitempty"`
	// Updates are the updates of firmware that the step has begun, in their order.
	Updates []FirmwareUpdate `json:"updates,omitempty"`
	// Written is when the step has written what the next boot of the server applies; nil = nothing yet.
	Written *time.Time `json:"written,omitempty"`
	// Volumes is how far a step is that makes volumes; nil = it has not begun.
	Volumes *VolumeWork `json:"volumes,omitempty"`
	// Phase is the step's own progress mark ("off", "on"), for steps of several requests.
	Phase string `json:"phase,omitempty"`
}

// Issued is a request recorded before it was sent.
type Issued struct {
	At time.Time `json:"at"`
	// Command is the agent's command name ("deploy.execute_deploy_step"), or the pulse.
	Command string `json:"command"`
	// Before is how many commands the agent listed before; tells ours from an equal older one.
	Before int `json:"before,omitempty"`
	// After is the id of the last command the agent listed before; the same
	// agent process still has it.
	After string `json:"after,omitempty"`
	Task  string `json:"task,omitempty"` // Redfish task URI
	// Known are the ids of the subscriptions that the BMC had before one was to be created.
	Known []string `json:"known,omitempty"`
	// Sent is how many requests to the BMC were recorded before this one (Operation.RequestsSent); nil = nobody noted it.
	Sent *int64 `json:"sent,omitempty"`
	// Awaited reports that who sent it has awaited the answer; false = it was interrupted before, or nobody noted it.
	Awaited bool `json:"awaited,omitempty"`
}

// InsertMedia is the Command under which a request to insert a virtual medium is
// recorded (Redfish, VirtualMedia.InsertMedia).
const InsertMedia = "InsertMedia"

// FellSilent notes that the BMC gives no answer at now. patience is how long one silence is waited for. A silence that
// begins more than that after the first one of this phase counts as a failure, so that the step does not go on for ever if
// the BMC keeps coming back and falling silent.
func (s *Step) FellSilent(now time.Time, patience time.Duration) {
	switch {
	case s.SilentSince != nil:
		return
	case s.FirstSilentAt == nil:
		s.FirstSilentAt = &now
	case now.Sub(*s.FirstSilentAt) >= patience:
		s.Failures++
	}
	s.SilentSince, s.SilentUntil = &now, nil
}

// ForgetSilence makes the next silence of the BMC count as the first one of a phase.
func (s *Step) ForgetSilence() { s.SilentSince, s.FirstSilentAt = nil, nil }

// Over reports whether nothing is left to do for the step.
func (s Step) Over() bool { return s.State == StepDone || s.State == StepSkipped }

// Name is "interface.step", as Ironic writes it.
func (s Step) Name() string { return s.Interface + "." + s.Step }

// Rewind makes the step begin at its first phase and forgets what it has sent, but not an
// insertion: its medium may still appear, even in a drive that was emptied meanwhile.
// Whoever runs the step next waits for that.
func (s *Step) Rewind() {
	s.Phase, s.MediumInserted, s.Written = "", false, nil
	if !s.Inserting() {
		s.Issued = nil
	}
}

// Inserting reports whether an insertion of a medium was recorded whose outcome is not
// known yet.
func (s *Step) Inserting() bool { return s.Issued != nil && s.Issued.Command == InsertMedia }

// restartsMost is how often a step is restarted: if a server loses its agent twice, something
// else is wrong with it.
const restartsMost = 1

// MayBeginAnew reports whether the table of steps lets the step begin again with another boot of the agent if
// its agent is lost. A step of the agent that has sent no command yet may always do so.
func (s *Step) MayBeginAnew() bool {
	first := s.Source == SourceAgent && s.Issued == nil
	return s.Restarts < restartsMost && (first || s.Rule().MayRestart)
}

// Restart makes a step whose agent was lost begin again with another boot of the agent, and
// reports whether it may. why is written in the step's note.
func (s *Step) Restart(why string) bool {
	if !s.MayBeginAnew() {
		return false
	}
	s.Restarts++
	s.Restarting, s.Failures, s.BusySince = true, 0, nil
	s.ForgetSilence()
	s.Rewind()
	s.Note = "begun anew with another boot of the agent: " + why
	return true
}
