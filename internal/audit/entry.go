// Package audit says who asked for which change, and what came of it. The HTTP layer puts an Entry into the context of a request, and the
// store writes it in the first transaction of the request that changes something (docs/audit.md). Entries have names of fields and never
// their values.
package audit

import (
	"context"
	"regexp"
	"slices"
	"sync"
	"time"

	"go.temper.dev/temper/internal/access"
)

// Outcome is what came of a request.
type Outcome string

// The outcomes.
const (
	Accepted Outcome = "accepted"
	Refused  Outcome = "refused" // by a status below 500
	Failed   Outcome = "failed"  // by a status from 500 on
)

// Outcomes are all outcomes.
func Outcomes() []Outcome { return []Outcome{Accepted, Refused, Failed} }

// OutcomeOf is the outcome of a request that was answered with an HTTP status.
func OutcomeOf(status int) Outcome {
	switch {
	case status >= 500:
		return Failed
	case status >= 400:
		return Refused
	}
	return Accepted
}

// LogIn is the rule of the rows that count refused log-ins.
const LogIn = "log in"

// Entry is a row of the audit.
type Entry struct {
	Seq       int64         `json:"seq"`
	At        time.Time     `json:"at"`
	User      string        `json:"user"`
	Method    access.Method `json:"method"`
	From      string        `json:"from"`       // the client's address
	RequestID string        `json:"request_id"` // "" = there was no request
	Rule      string        `json:"rule"`
	Route     string        `json:"route"` // "PATCH /v1/nodes/:node"
	NodeUUID  string        `json:"node_uuid"`
	NodeName  string        `json:"node_name"`
	Kind      string        `json:"kind"` // of another target, such as "port"; "" = there is none
	Target    string        `json:"target"`
	Operation int64         `json:"operation"` // 0 = none
	What      []string      `json:"what"`      // the fields that the request names, or its verb
	Reason    string        `json:"reason"`
	Outcome   Outcome       `json:"outcome"`
	Status    int           `json:"status"` // 0 = the change was committed before the request was answered
	Count     int           `json:"count"`  // of refused log-ins; else 1
}

// Filter selects rows of the audit. Fields that are empty select all.
type Filter struct {
	Since, Until time.Time
	User, Node   string // Node is a uuid or a name
	Rule         string
	Outcome      Outcome
	Marker       int64 // only rows before this one; 0 = all
	Limit        int
}

// LogIns counts refused log-ins from one address in one minute.
type LogIns struct {
	From   string
	Minute time.Time
	Status int    // of the last one
	Route  string // of the last one
	Count  int
}

type recordKey struct{}

// Record is the Entry of a request that is under way. Its methods are safe for concurrent use, and do nothing on a nil *Record.
type Record struct {
	mu    sync.Mutex
	entry Entry
	taken bool // a transaction writes it, or has written it
	doubt bool // a transaction was to write it, and it is not known whether it did
}

// Begin returns a context for a request, with its Record.
func Begin(ctx context.Context, e Entry) (context.Context, *Record) {
	r := &Record{entry: e}
	return context.WithValue(ctx, recordKey{}, r), r
}

// Of is the Record of a request; nil = the request has none, or there is no request.
func Of(ctx context.Context) *Record {
	r, _ := ctx.Value(recordKey{}).(*Record)
	return r
}

func (r *Record) edit(change func(*Entry)) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.entry)
}

// By says who asks, how he proved it, and by which rule he may.
func (r *Record) By(user string, method access.Method) {
	r.edit(func(e *Entry) { e.User, e.Method = user, method })
}

// Ruled says which rule has decided, where it is not that of the route.
func (r *Record) Ruled(rule string) { r.edit(func(e *Entry) { e.Rule = rule }) }

// Verb keeps the verb of a request, which is one of those that Temper knows.
func (r *Record) Verb(verb string) { r.edit(func(e *Entry) { e.What = []string{verb} }) }

// OnNode says which node the request is about.
func (r *Record) OnNode(uuid, name string) {
	r.edit(func(e *Entry) { e.NodeUUID, e.NodeName = uuid, name })
}

// On says what else the request is about.
func (r *Record) On(kind, target string) {
	r.edit(func(e *Entry) { e.Kind, e.Target = kind, target })
}

// Opens says which operation the request opens or changes.
func (r *Record) Opens(operation int64) { r.edit(func(e *Entry) { e.Operation = operation }) }

// Because keeps the reason that a request gives.
func (r *Record) Because(reason string) { r.edit(func(e *Entry) { e.Reason = reason }) }

// name is what a field may be called. Other names are text of the client's, which could be anything.
var name = regexp.MustCompile(`^[A-Za-z0-9_.:-]{1,64}$`)

// maxNames bounds Entry.What.
const maxNames = 64

// Names keeps the names of the fields that the request sets, or its verb.
func (r *Record) Names(names ...string) {
	var out []string
	for _, n := range names {
		if !name.MatchString(n) {
			n = "other"
		}
		if !slices.Contains(out, n) && len(out) < maxNames {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	r.edit(func(e *Entry) { e.What = out })
}

// Take returns the Entry to who writes it. ok is false if another has taken it. Who does not write it calls GiveBack.
func (r *Record) Take() (e Entry, ok bool) {
	if r == nil {
		return Entry{}, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.taken {
		return Entry{}, false
	}
	r.taken = true
	return r.entry, true
}

// GiveBack undoes Take. doubt means that the row may be written all the same.
func (r *Record) GiveBack(doubt bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken, r.doubt = false, r.doubt || doubt
}

// InDoubt reports whether a row may be written although nobody has it.
func (r *Record) InDoubt() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.doubt
}

// Leave says that the request needs no row, because it is the heartbeat of a program.
func (r *Record) Leave() { r.Take() }
