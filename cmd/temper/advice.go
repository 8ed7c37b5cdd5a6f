package main

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/node"
)

// advisedError is an error whose text says what to do.
type advisedError struct {
	err    error
	advice string // "" = nobody knows
}

func (e *advisedError) Error() string {
	if e.advice == "" {
		return e.err.Error()
	}
	return e.err.Error() + "; " + e.advice
}

func (e *advisedError) Unwrap() error { return e.err }

// advised adds to an error what can be done about it, where it says nothing of that yet.
func advised(err error) error { return advisedOn(err, "", "") }

// advisedOn is advised for an error about a node, by the name it was called, and what was asked of it ("" = nothing of the
// life cycle).
func advisedOn(err error, name string, e node.Event) error {
	var done *advisedError
	if err == nil || errors.As(err, &done) {
		return err
	}
	if advice := generalAdvice(err); advice != "" {
		return &advisedError{err, advice}
	}
	return &advisedError{err, nodeAdvice(err, name, e)}
}

// notFound finds what is not there.
var notFound = regexp.MustCompile(`^(Node|Port|Conductor|Operation) .* could not be found$`)

// stateUnknown finds the refusal of a provision state that is none.
var stateUnknown = regexp.MustCompile(`^Provision state ".*" is not valid`)

func generalAdvice(err error) string {
	if k, ok := client.KindOf(err); ok && (k == client.Unreached || k == client.Unreadable) {
		return "if it is elsewhere, say so with --api or TEMPER_API_URL"
	}
	switch client.StatusOf(err) {
	case http.StatusUnauthorized:
		return "say who you are with TEMPER_API_USER and TEMPER_API_PASSWORD"
	case http.StatusNotFound:
		if what := notFound.FindStringSubmatch(refusal(err)); what != nil {
			return "temper " + strings.ToLower(what[1]) + " list shows which there are"
		}
	case http.StatusBadRequest:
		if stateUnknown.MatchString(refusal(err)) {
			return "it is one of: " + joinStates(node.States())
		}
	case http.StatusNotAcceptable:
		return "the API is older than this program, which asks for version " + client.Version
	case http.StatusServiceUnavailable:
		switch words := refusal(err); {
		case strings.HasSuffix(words, ")"): // it is not the conductors that are away
			return "ask again when it is back"
		case hinted.MatchString(words):
			return ""
		}
		return "see temper conductor list, and ask again"
	}
	return ""
}

// refusal are the API's words in err; "" where it said none.
func refusal(err error) string {
	var e *client.Error
	if errors.As(err, &e) {
		return e.Words
	}
	return ""
}

// refusedIn finds the state in the refusal of a verb (Ironic's InvalidStateRequested).
var refusedIn = regexp.MustCompile(`can not be performed on node .* while it is in state "([^"]+)"`)

// hinted finds what the API says itself of what would work (node.Hinted).
var hinted = regexp.MustCompile(`\. (See|First:) "temper |\. (It is .* already|That is possible in: )`)

func nodeAdvice(err error, name string, e node.Event) string {
	words := refusal(err)
	if name == "" || hinted.MatchString(words) {
		return ""
	}
	if state := refusedIn.FindStringSubmatch(words); state != nil {
		return wayTo(name, node.State(state[1]), e)
	}
	switch status := client.StatusOf(err); {
	case strings.Contains(words, "No valid host"):
		return "temper conductor list shows which conductors there are, and for what"
	case status == http.StatusConflict && strings.Contains(words, "can not be updated while a state transition"):
		return "temper operation watch --node " + name + " shows what goes on; once it holds for a decision, driver_info, instance_info and properties can be set"
	case status == http.StatusConflict && (strings.Contains(words, "is locked") || strings.Contains(words, "state transition")):
		return "temper operation watch --node " + name + " shows what goes on"
	case status == http.StatusForbidden && strings.Contains(words, "protected"):
		return "temper node set " + name + " --protected=false lifts that"
	case status == http.StatusBadRequest && strings.Contains(words, "image_"):
		return "say which image with --image and --checksum"
	case status == http.StatusBadRequest && strings.Contains(words, "alidat"):
		return "temper node validate " + name + " shows what is missing"
	}
	return ""
}

// wayTo says how a node in state s comes to where event e is possible.
func wayTo(name string, s node.State, e node.Event) string {
	if e == "" {
		return ""
	}
	if node.Reached(s, e) {
		return "it is " + string(s) + " already"
	}
	if steers := e == node.EventAbort || e == node.EventUnhold; steers {
		return possibleIn(e)
	}
	if node.Transient(s) {
		return "temper operation watch --node " + name + " shows when it is done" + endingOf(name, s)
	}
	if way := node.Way(s, e); len(way) > 0 {
		verbs := make([]string, len(way))
		for i, v := range way {
			verbs[i] = fmt.Sprintf("temper node %s %s", v, name)
		}
		return "first: " + strings.Join(verbs, ", then ")
	}
	return possibleIn(e)
}

// possibleIn names all states in which a client may ask for e.
func possibleIn(e node.Event) string {
	return "that is possible in: " + joinStates(node.PossibleIn(e))
}

func joinStates(list []node.State) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = string(s)
	}
	return strings.Join(out, ", ")
}

// endingOf says how a node that waits or is held in s comes out of it.
func endingOf(name string, s node.State) string {
	way := ""
	if node.Can(s, node.EventUnhold) {
		way += ", temper node unhold " + name + " lets it go on"
	}
	if node.Can(s, node.EventAbort) {
		way += ", temper node abort " + name + " ends it"
	}
	return way
}
