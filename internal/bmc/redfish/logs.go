package redfish

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stmcginnis/gofish/schemas"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/jsonvalue"
)

// Limits on what is read of an event log, besides those of one call. Logs of some BMCs have more than 10,000 entries.
const (
	maxLogEntries = 5000 // of one log
	maxLogPage    = 2048 // of one page; the rest of it is dropped
	oldestYear    = 1980 // an earlier time means that the BMC's clock was not set
)

type logService struct {
	ID      looseString `json:"Id"`
	Entries link
	Actions loose[struct {
		Clear schemas.ActionTarget `json:"#LogService.ClearLog"`
	}]
}

type logPage struct {
	Members  logMembers
	NextLink looseString `json:"Members@odata.nextLink"`
}

// logEntry is an entry. Some BMCs list only links to their entries.
type logEntry struct {
	Path           looseString `json:"@odata.id"`
	ID             looseString `json:"Id"`
	Created        looseString
	EventTimestamp looseString
	Severity       looseString
	SensorType     loose[looseString]
	EntryCode      looseString
	Message        looseString
	MessageID      looseString `json:"MessageId"`
	Name           looseString
}

// logMembers are the entries of a page, at most maxLogPage.
type logMembers []logEntry

// UnmarshalJSON never fails.
func (l *logMembers) UnmarshalJSON(b []byte) error {
	*l = nil
	d := jsonvalue.NewDecoder(bytes.NewReader(b))
	if open, err := d.Token(); err != nil || open != json.Delim('[') {
		return nil
	}
	for len(*l) < maxLogPage && d.More() {
		var one loose[logEntry]
		if d.Decode(&one) != nil {
			break
		}
		if one.v != (logEntry{}) {
			*l = append(*l, one.v)
		}
	}
	return nil
}

// isLink reports whether the entry must be read by its own.
func (e logEntry) isLink() bool {
	return e.ID == "" && e.Message == "" && e.Created == "" && e.Path != ""
}

// at is when the event happened; zero if that is not known.
func (e logEntry) at() time.Time {
	for _, text := range []looseString{e.EventTimestamp, e.Created} {
		for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05"} {
			if t, err := time.Parse(layout, string(text)); err == nil && t.Year() >= oldestYear {
				return t.UTC()
			}
		}
	}
	return time.Time{}
}

// Events reads the event logs of the system and of its managers. A log that can't be read, or has too many entries, is named in the
// result.
func (s *session) Events(ctx context.Context, limit int) (bmc.Events, error) {
	ctx, done := withBudget(ctx, inspectTime)
	defer done()
	out, err := s.events(ctx, limit)
	if err != nil {
		return bmc.Events{}, s.wrap("read the event logs", err)
	}
	return out, nil
}

func (s *session) events(ctx context.Context, limit int) (bmc.Events, error) {
	logs, err := s.logServices(ctx)
	if err != nil {
		return bmc.Events{}, err
	}
	var out bmc.Events
	for _, log := range logs {
		entries, err := s.readLog(ctx, log, limit)
		switch {
		case err == nil:
		case skippable(err) || fault.Is(err, fault.Refused):
			out.Incomplete = append(out.Incomplete, fmt.Sprintf("the log %s is not complete: %s", log.ID.short(), s.endpoint.redact(err.Error())))
		default:
			return bmc.Events{}, err
		}
		out.List = mergeByTime(out.List, entries)
	}
	out.List = out.List[max(0, len(out.List)-limit):]
	return out, nil
}

// logServices returns the logs that the system and its managers have. It is fault.Refused if there are none.
func (s *session) logServices(ctx context.Context) ([]logService, error) {
	sys, err := s.readSystem(ctx)
	if err != nil {
		return nil, err
	}
	var out []logService
	seen := map[string]bool{}
	for _, owner := range append([]string{sys.path}, s.managers(ctx, sys.system)...) {
		var has struct{ LogServices link }
		if err := s.readOptional(ctx, link(owner), &has); err != nil {
			return nil, err
		}
		if at := strings.TrimRight(string(has.LogServices), "/"); at == "" || seen[at] {
			continue
		}
		seen[strings.TrimRight(string(has.LogServices), "/")] = true
		if err := each(ctx, s, has.LogServices, func(one logService) { out = append(out, one) }); err != nil {
			return nil, err
		}
	}
	if len(out) == 0 {
		return nil, fault.New(fault.Refused, "the BMC offers no event log")
	}
	return out, nil
}

// readLog returns the newest limit entries of a log, the oldest first. With an error it returns those that it could read.
func (s *session) readLog(ctx context.Context, log logService, limit int) ([]bmc.Event, error) {
	entries, err := s.readEntries(ctx, string(log.Entries), limit)
	var out []bmc.Event
	for i := len(entries) - 1; i >= 0 && len(out) < limit; i-- { // the newest first, because there may be too many to follow all
		if failed := s.follow(ctx, &entries[i]); failed != nil {
			err = failed
			break
		}
		if !entries[i].isLink() { // else it is gone by now
			out = append(out, s.eventOf(log, entries[i]))
		}
	}
	slices.Reverse(out)
	return out, err
}

// readEntries returns the entries of a log, the oldest first. Where the BMC has the newest first, it reads no more pages than the
// newest limit entries need.
func (s *session) readEntries(ctx context.Context, path string, limit int) (entries []logEntry, err error) {
	newestFirst := false
	seen := map[string]bool{}
	for next := path; next != "" && !seen[next]; {
		seen[next] = true
		var page logPage
		if _, err = s.read(ctx, next, &page); err != nil || len(page.Members) == 0 {
			break
		}
		entries = append(entries, page.Members...)
		next = string(page.NextLink)
		if newestFirst, err = s.newestFirst(ctx, entries); err != nil || newestFirst && len(entries) >= limit {
			break
		}
		if len(entries) >= maxLogEntries && next != "" {
			err = fault.New(fault.Refused, "it has more than the %d entries that are read", len(entries))
			break
		}
	}
	if newestFirst {
		slices.Reverse(entries)
	}
	return entries, err
}

// newestFirst reports whether a log has its newest entries first, by their times or else by their numbers. Vendors differ in that,
// and the standard does not say.
func (s *session) newestFirst(ctx context.Context, entries []logEntry) (bool, error) {
	first, last := &entries[0], &entries[len(entries)-1]
	for _, e := range []*logEntry{first, last} {
		if err := s.follow(ctx, e); err != nil {
			return false, err
		}
	}
	if a, b := first.at(), last.at(); !a.Equal(b) && !a.IsZero() && !b.IsZero() {
		return a.After(b), nil
	}
	a, err1 := strconv.Atoi(string(first.ID))
	b, err2 := strconv.Atoi(string(last.ID))
	return err1 == nil && err2 == nil && a > b, nil
}

// follow reads an entry of which only the link is known. An entry that is gone by now stays a link.
func (s *session) follow(ctx context.Context, e *logEntry) error {
	if !e.isLink() {
		return nil
	}
	return s.readOptional(ctx, link(e.Path), e)
}

func (s *session) eventOf(log logService, e logEntry) bmc.Event {
	words := firstNonBlank(firstNonBlank(string(e.Message), string(e.MessageID)), string(e.Name))
	return bmc.Event{
		Log: log.ID.short(), ID: e.ID.short(), At: e.at(), Severity: e.Severity.short(), Sensor: e.SensorType.v.short(),
		Text: s.endpoint.redact(printable(words, maxStored)), Asserted: !strings.EqualFold(string(e.EntryCode), "Deassert"),
	}
}

// mergeByTime merges two lists that are in order. An event without a time stays behind the one before it.
func mergeByTime(a, b []bmc.Event) []bmc.Event {
	type timed struct {
		at time.Time
		bmc.Event
	}
	var all []timed
	for _, list := range [][]bmc.Event{a, b} {
		var last time.Time
		for _, e := range list {
			if !e.At.IsZero() {
				last = e.At
			}
			all = append(all, timed{last, e})
		}
	}
	slices.SortStableFunc(all, func(x, y timed) int { return x.at.Compare(y.at) })
	out := make([]bmc.Event, len(all))
	for i, t := range all {
		out[i] = t.Event
	}
	return out
}

// ClearEvents clears the logs that have the action for it. A BMC that wants to know what to clear is told to clear everything.
func (s *session) ClearEvents(ctx context.Context) ([]string, error) {
	ctx, done := withBudget(ctx, callTime)
	defer done()
	cleared, err := s.clearEvents(ctx)
	return cleared, s.wrap("clear the event logs", err)
}

func (s *session) clearEvents(ctx context.Context) (cleared []string, err error) {
	logs, err := s.logServices(ctx)
	if err != nil {
		return nil, err
	}
	ctx = bmc.Asking(ctx, bmc.NameClearEvents)
	for _, log := range logs {
		target := log.Actions.v.Clear.Target
		if target == "" {
			continue
		}
		err := s.change(ctx, http.MethodPost, target, "", struct{}{})
		var no *refusal
		if errors.As(err, &no) && no.status == http.StatusBadRequest {
			err = s.change(ctx, http.MethodPost, target, "", map[string]string{"ClearType": "ClearAll"}) // MegaRAC
		}
		if err != nil {
			return cleared, err
		}
		cleared = append(cleared, log.ID.short())
	}
	if len(cleared) == 0 {
		err = fault.New(fault.Refused, "the BMC offers no way to clear its event logs")
	}
	return cleared, err
}
