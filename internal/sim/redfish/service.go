// Package redfish is the Redfish service of simulated servers (DSP0266, schema bundle
// 2023.3), and the personas that answer as the BMCs of real machines do. It is written from the specification and uses no code of Temper's Redfish
// client, so that an error in one of them shows. It has no state: that is in package
// machine.
package redfish

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"go.temper.dev/temper/internal/sim/faults"
	"go.temper.dev/temper/internal/sim/machine"
)

// The resources' paths. Each BMC has one of each. A persona may show them at others.
const (
	root      = "/redfish/v1"
	system    = root + "/Systems/1"
	managers  = root + "/Managers"
	manager   = managers + "/BMC"
	chassis   = root + "/Chassis/1"
	sessions  = root + "/SessionService/Sessions"
	tasks     = root + "/TaskService/Tasks"
	monitors  = root + "/TaskService/TaskMonitors"
	bodyLimit = 1 << 20
)

// m is a JSON object.
type m = map[string]any

// Service answers for every server of a rack; it has no state of its own.
type Service struct {
	personas map[string]*Persona
	muxes    map[string]*http.ServeMux // by persona
	latency  time.Duration
}

// New returns a service that answers as these personas and delays every answer by latency.
func New(latency time.Duration, as ...*Persona) *Service {
	sv := &Service{personas: map[string]*Persona{}, muxes: map[string]*http.ServeMux{}, latency: latency}
	for _, p := range as {
		sv.personas[p.Name] = p
		sv.muxes[p.Name] = p.mux()
	}
	return sv
}

// SystemOf returns the path of a server's system.
func (sv *Service) SystemOf(s *machine.Server) string {
	p := sv.personas[s.Persona()]
	if p.recorded != nil {
		return p.recorded.System
	}
	return p.shown(system)
}

// routes returns the resources of the standard's service.
func routes() map[string]resource {
	all := map[string]resource{}
	for _, some := range []map[string]resource{
		rootRoutes(), sessionRoutes(), systemRoutes(), partRoutes(), storageRoutes(), biosRoutes(), managerRoutes(),
		mediaRoutes(), taskRoutes(), accountRoutes(), adapterRoutes(), firmwareRoutes(), bootOptionRoutes(), pcieRoutes(),
	} {
		maps.Copy(all, some)
	}
	return all
}

// Serve answers one request to the BMC of s; r's path begins with /redfish.
func (sv *Service) Serve(w http.ResponseWriter, r *http.Request, s *machine.Server) {
	s.CountRequest()
	if !sleep(r.Context(), sv.latency) {
		return
	}
	if away := s.BMCDowntime(); away > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(away.Seconds())+1))
		problem(http.StatusServiceUnavailable, "ServiceTemporarilyUnavailable", "1").write(w)
		return
	}
	expire := func() { s.ForgetToken(r.Header.Get("X-Auth-Token")) }
	s.Faults.Serve(w, r, faults.Event{Method: r.Method, Path: r.URL.Path},
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { sv.serve(w, r, s) }), expire)
}

func (sv *Service) serve(w http.ResponseWriter, r *http.Request, s *machine.Server) {
	p := sv.personas[s.Persona()]
	if p.events == streams && r.Method == http.MethodGet && r.URL.Path == eventStream {
		if err := authorize(r, s); err != nil {
			fail(w, err)
			return
		}
		streamEvents(w, r, s)
		return
	}
	if p.translates() {
		t := &translator{ResponseWriter: w, persona: p, gzip: strings.Contains(r.Header.Get("Accept-Encoding"), "gzip")}
		defer t.flush()
		w = t
		r.URL.Path = p.canonical(r.URL.Path)
	}
	w.Header().Set("OData-Version", "4.0")
	w.Header().Set("Cache-Control", "no-cache")
	if len(r.URL.Path) > 1 {
		r.URL.Path = strings.TrimSuffix(r.URL.Path, "/")
	}
	if err := authorize(r, s); err != nil {
		w.Header().Set("WWW-Authenticate", `Basic realm="`+s.Name+`"`)
		fail(w, err)
		return
	}
	for k := range r.URL.Query() {
		// DSP0266 7.3: an unsupported query that begins with $ is refused, others are ignored.
		if strings.HasPrefix(k, "$") && !(k == skipQuery && strings.HasSuffix(r.URL.Path, logEntries)) {
			problem(http.StatusNotImplemented, "QueryNotSupported").write(w)
			return
		}
	}
	sv.muxes[p.Name].ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callKey{}, call{s: s, p: p})))
}

type callKey struct{}

// call is a request, the server that it is for and the persona of that server.
type call struct {
	*http.Request
	s *machine.Server
	p *Persona
}

// callOf returns the call of a request that came through serve.
func callOf(r *http.Request) *call {
	c := r.Context().Value(callKey{}).(call)
	c.Request = r
	return &c
}

// reply is an answer that is not simply the resource.
type reply struct {
	status   int
	location string
	header   map[string]string
	body     m
}

// resource has the handlers of a path; a nil one is answered with 405.
type resource struct {
	get    func(*call) (m, error)
	patch  func(*call, m) error
	post   func(*call, m) (reply, error)
	delete func(*call) error
	remove func(*call) (reply, error) // a delete that may be a task
}

// ServeHTTP does what is common to all resources: methods, bodies, ETags, errors.
func (res resource) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := callOf(r)
	var rep reply
	var err error
	switch {
	case (r.Method == http.MethodGet || r.Method == http.MethodHead) && res.get != nil:
		res.serveGet(w, c)
		return
	case r.Method == http.MethodPatch && res.patch != nil:
		rep, err = res.servePatch(c)
	case r.Method == http.MethodPost && res.post != nil:
		var body m
		if body, err = readBody(r); err == nil {
			rep, err = res.post(c, body)
		}
	case r.Method == http.MethodDelete && res.delete != nil:
		err = res.delete(c)
	case r.Method == http.MethodDelete && res.remove != nil:
		rep, err = res.remove(c)
	default:
		w.Header().Set("Allow", res.allow())
		err = problem(http.StatusMethodNotAllowed, "OperationNotAllowed")
	}
	if err != nil {
		fail(w, err)
		return
	}
	rep.write(w)
}

func (res resource) serveGet(w http.ResponseWriter, c *call) {
	body, err := res.get(c)
	if err != nil {
		fail(w, err)
		return
	}
	tag := etag(body)
	if !c.p.gzip {
		body["@odata.etag"] = tag
	}
	w.Header().Set("ETag", tag)
	w.Header().Set("Allow", res.allow()) // DSP0266, 7.2
	if c.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	reply{status: http.StatusOK, body: body}.write(w)
}

func (res resource) servePatch(c *call) (reply, error) {
	before, err := res.get(c)
	if err != nil {
		return reply{}, err
	}
	if match := c.Header.Get("If-Match"); !tagMatches(match, etag(before)) || c.p.noMatch && match != "" {
		return reply{}, problem(http.StatusPreconditionFailed, "PreconditionFailed")
	}
	body, err := readBody(c.Request)
	if err != nil {
		return reply{}, err
	}
	if err := res.patch(c, body); err != nil {
		return reply{}, err
	}
	after, err := res.get(c)
	if err != nil {
		return reply{}, err
	}
	tag := etag(after)
	after["@odata.etag"] = tag
	return reply{status: http.StatusOK, header: map[string]string{"ETag": tag}, body: after}, nil
}

func (res resource) allow() string {
	var out []string
	if res.get != nil {
		out = append(out, http.MethodGet, http.MethodHead)
	}
	if res.patch != nil {
		out = append(out, http.MethodPatch)
	}
	if res.post != nil {
		out = append(out, http.MethodPost)
	}
	if res.delete != nil || res.remove != nil {
		out = append(out, http.MethodDelete)
	}
	return strings.Join(out, ", ")
}

// etag returns an ETag that changes whenever the body changes.
func etag(body m) string {
	b, _ := json.Marshal(body) // maps of plain values encode
	h := fnv.New64a()
	_, _ = h.Write(b)
	return fmt.Sprintf(`"%016x"`, h.Sum64())
}

func tagMatches(want, have string) bool {
	if want == "" || want == "*" {
		return true
	}
	for t := range strings.SplitSeq(want, ",") {
		if strings.TrimPrefix(strings.TrimSpace(t), "W/") == have {
			return true
		}
	}
	return false
}

func readBody(r *http.Request) (m, error) {
	b, err := io.ReadAll(io.LimitReader(r.Body, bodyLimit+1))
	if err != nil {
		return nil, problem(http.StatusBadRequest, "MalformedJSON")
	}
	if len(b) > bodyLimit {
		return nil, problem(http.StatusRequestEntityTooLarge, "GeneralError")
	}
	body := m{}
	if len(strings.TrimSpace(string(b))) == 0 {
		return body, nil
	}
	if json.Unmarshal(b, &body) != nil {
		return nil, problem(http.StatusBadRequest, "MalformedJSON")
	}
	return body, nil
}

func (rep reply) write(w http.ResponseWriter) {
	for k, v := range rep.header {
		w.Header().Set(k, v)
	}
	if rep.location != "" {
		w.Header().Set("Location", rep.location)
	}
	if rep.status == 0 {
		rep.status = http.StatusNoContent
	}
	if rep.body == nil {
		w.WriteHeader(rep.status)
		return
	}
	b, _ := json.Marshal(rep.body)
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(rep.status)
	_, _ = w.Write(b)
}

func fail(w http.ResponseWriter, err error) {
	var p *Problem
	if !errors.As(err, &p) {
		p = problem(http.StatusInternalServerError, "GeneralError")
	}
	p.write(w)
}

func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
