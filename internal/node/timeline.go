package node

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"go.temper.dev/temper/internal/text"
)

// TimelineWhat is what an entry of an operation's timeline is about.
type TimelineWhat string

// What entries are about. Conductors add the first five to what they save (News); the others follow from what changes in an
// operation (Operation.Tell) and from who takes it (Operation.Take).
const (
	TimelineBoot     TimelineWhat = "boot"        // the agent was booted
	TimelineMedium   TimelineWhat = "medium read" // the server had read the medium of its agent; Words is how much of it
	TimelineErased   TimelineWhat = "erased"      // a disk was; Words is which one, how, and whether that was verified
	TimelineFailed   TimelineWhat = "failed"      // an attempt at a step failed; Words is the error
	TimelineNoAnswer TimelineWhat = "no answer"   // the hardware did not answer this conductor; another one tries

	TimelineTakenUp    TimelineWhat = "taken up"    // by the first conductor or, if Former is the same one, once more by it
	TimelineTakenOver  TimelineWhat = "taken over"  // from Former, which was lost in the middle of the step; Words is how
	TimelineHandedOver TimelineWhat = "handed over" // from Former, which had ended its part
	TimelineStopped    TimelineWhat = "stopped"     // the conductor stopped working on the step in good order
	TimelineWaiting    TimelineWhat = "waiting"     // Words is for what
	TimelineWaitEnded  TimelineWhat = "wait ended"
	TimelineCalled     TimelineWhat = "agent called"
	TimelineBlocked    TimelineWhat = "blocked" // it can't go on; Words is what it waits for
	TimelineUnblocked  TimelineWhat = "unblocked"
	TimelineHeld       TimelineWhat = "held" // it waits for a decision; Words is the error
	TimelineDecided    TimelineWhat = "decided"
	TimelineAsked      TimelineWhat = "asked"
	TimelinePaused     TimelineWhat = "paused" // in Temporal
	TimelineUnpaused   TimelineWhat = "unpaused"
	TimelineUndoing    TimelineWhat = "undoing"
	TimelineRun        TimelineWhat = "another run" // of the workflow has the operation
)

// MaxNews bounds the words of an entry, in bytes.
const MaxNews = 256

// CutNews returns the words of an entry without the mark of a cut, and whether some may have been cut off.
func CutNews(words string) (kept string, cut bool) {
	const mark = "..."
	if kept, cut = strings.CutSuffix(words, mark); cut && len(kept) > MaxNews-len(mark)-utf8.UTFMax {
		return kept, true
	}
	return words, false
}

// News is an entry that a conductor adds to the timeline.
type News struct {
	What  TimelineWhat `json:"what"`
	Step  string       `json:"step,omitempty"`  // "interface.step"
	Words string       `json:"words,omitempty"` // bounded to MaxNews bytes
}

// TimelineEntry is something that happened to an operation between its beginning and its end.
type TimelineEntry struct {
	Seq       int          `json:"-"`           // in its operation, from 1
	At        time.Time    `json:"at,omitzero"` // zero in one that is to be written = now
	What      TimelineWhat `json:"what"`
	Step      string       `json:"step,omitempty"`      // "interface.step"; "" = none
	Conductor string       `json:"conductor,omitempty"` // "" = none
	Former    string       `json:"former,omitempty"`    // of a hand-over: the conductor before
	Since     *time.Time   `json:"since,omitempty"`     // of a hand-over: the last sign of Former; of the end of a wait: its beginning
	By        string       `json:"by,omitempty"`        // a person; "" = nobody
	Words     string       `json:"words,omitempty"`
}

// Text describes the entry for people, in one clause.
func (e TimelineEntry) Text() string {
	with := func(s string) string {
		if e.Words != "" {
			return s + ": " + text.Clause(e.Words)
		}
		return s
	}
	switch e.What {
	case TimelineBoot:
		return "the ramdisk agent was booted"
	case TimelineMedium:
		return "the server had read " + e.Words
	case TimelineErased:
		return text.Clause(e.Words)
	case TimelineFailed:
		return with("an attempt at step " + e.Step + " failed")
	case TimelineNoAnswer:
		return with(fmt.Sprintf("the hardware did not answer %s, so another conductor tries %s", ConductorWords(e.Conductor), e.work()))
	case TimelineTakenUp:
		if e.Former != "" {
			return ConductorWords(e.Conductor) + " took " + e.work() + " up again"
		}
		return "taken up by " + ConductorWords(e.Conductor) + e.after("accepted")
	case TimelineTakenOver:
		return e.takenOver()
	case TimelineHandedOver:
		return fmt.Sprintf("handed over from %s to %s", ConductorWords(e.Former), e.Conductor)
	case TimelineStopped:
		return ConductorWords(e.Conductor) + " stopped working on the step before it was over"
	case TimelineWaiting, TimelineBlocked:
		return "waiting for " + e.Words
	case TimelineWaitEnded:
		return "no longer waiting for " + e.Words
	case TimelineCalled:
		return "the agent called"
	case TimelineUnblocked:
		return "no longer waiting for " + e.Words
	case TimelineHeld:
		return with("held for a decision about step " + e.Step)
	case TimelineDecided:
		return with("decided" + e.person())
	case TimelineAsked:
		return with("asked" + e.person())
	case TimelinePaused:
		return with("paused in Temporal" + e.person())
	case TimelineUnpaused:
		return "unpaused in Temporal"
	case TimelineUndoing:
		return "undoing what is half done"
	case TimelineRun:
		return "another run of its workflow has it"
	}
	return with(string(e.What))
}

// The ways in which a conductor is lost, as Words of an entry has them.
const (
	lostReplaced = "replaced" // another process has its name
	lostStopped  = "stopped"  // it stopped without handing the step over
	lostDatabase = "database" // it lives, as far as is known: it could record nothing without PostgreSQL
	lostSilent   = "silent"   // it gave no sign of the step any more
)

func (e TimelineEntry) takenOver() string {
	how, since := "gave no sign of it any more", "" // its process may give some
	switch e.Words {
	case lostReplaced:
		how = "had died (another process has its name now)" // and perhaps the newest sign of life
	case lostStopped:
		how, since = "had stopped without handing it over", e.after("its last sign of life")
	case lostDatabase:
		how = "could record nothing while PostgreSQL was away"
	}
	return fmt.Sprintf("%s took %s over from %s, which %s%s", ConductorWords(e.Conductor), e.work(), e.Former, how, since)
}

// work names what a conductor worked on: the step or, if there is none, the undo of the operation.
func (e TimelineEntry) work() string {
	if e.Step == "" {
		return "the undo"
	}
	return "step " + e.Step
}

// after says how long after Since, which is called what, the entry is; "" if that is not known.
func (e TimelineEntry) after(what string) string {
	if e.Since == nil {
		return ""
	}
	return fmt.Sprintf(", %s after %s", text.Span(e.At.Sub(*e.Since)), what)
}

func (e TimelineEntry) person() string {
	if e.By == "" {
		return ""
	}
	return " by " + e.By
}

// historic are the entries that the node's history contains, too.
var historic = map[TimelineWhat]bool{
	TimelineBoot: true, TimelineNoAnswer: true, TimelineTakenOver: true, TimelineHandedOver: true, TimelineStopped: true,
	TimelineWaiting: true, TimelineCalled: true, TimelineBlocked: true, TimelineUnblocked: true,
}

// Historic reports whether the node's history contains the entry, too.
func (e TimelineEntry) Historic() bool { return historic[e.What] }
