package compute

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/jsonvalue"
)

// inventory is what /inventory answers.
type inventory struct {
	Host  string               `json:"host"`
	Epoch int64                `json:"epoch"` // 0 = nothing is published
	Live  bool                 `json:"live"`
	Nodes []client.ComputeNode `json:"nodes"`
}

// Handler serves the published share at /inventory, and accepts claims at /claims. Without a
// lease it shows no nodes and accepts no claims.
func (s *Service) Handler() http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("GET /inventory", s.getInventory)
	m.HandleFunc("POST /claims", s.postClaim)
	return m
}

func (s *Service) getInventory(w http.ResponseWriter, r *http.Request) {
	epoch, nodes, _, live := s.current()
	out := inventory{Host: s.Host, Epoch: epoch, Live: live, Nodes: nodes}
	if !knowsRequires(r) {
		out.Nodes = reservedForUnaware(nodes)
	}
	if out.Nodes == nil {
		out.Nodes = []client.ComputeNode{}
	}
	reply(w, http.StatusOK, out)
}

// knowsRequires reports whether the client understands the field requires of a node.
func knowsRequires(r *http.Request) bool {
	return slices.Contains(strings.Split(r.URL.Query().Get("knows"), ","), "requires")
}

// reservedForUnaware returns the share for clients that do not know requires: nodes that
// require something are reserved, so that these clients don't use them.
func reservedForUnaware(nodes []client.ComputeNode) []client.ComputeNode {
	out := slices.Clone(nodes)
	for i := range out {
		if len(out[i].Requires) > 0 && out[i].Used == 0 {
			out[i].Reserved = 1
		}
	}
	return out
}

// claim is the body of a POST of /claims.
type claim struct {
	Node     string `json:"node_uuid"`
	Instance string `json:"instance_uuid"`
}

// postClaim claims a published node for an instance. The API decides. Without a lease the
// service refuses the claim itself.
func (s *Service) postClaim(w http.ResponseWriter, r *http.Request) {
	var in claim
	if err := jsonvalue.NewDecoder(http.MaxBytesReader(w, r.Body, 4<<10)).Decode(&in); err != nil || in.Node == "" || in.Instance == "" {
		replyError(w, http.StatusBadRequest, "want node_uuid and instance_uuid")
		return
	}
	_, nodes, until, live := s.current()
	if !live {
		replyError(w, http.StatusServiceUnavailable, "this compute service can't renew its lease")
		return
	}
	if !slices.ContainsFunc(nodes, func(n client.ComputeNode) bool { return n.UUID == in.Node }) {
		replyError(w, http.StatusConflict, "the node is not in the share of this compute service")
		return
	}
	ctx, cancel := context.WithDeadline(r.Context(), until)
	defer cancel()
	if err := s.API.ClaimNode(ctx, s.Host, in.Node, in.Instance, knowsRequires(r)); err != nil {
		replyError(w, statusOf(err), err.Error())
		return
	}
	reply(w, http.StatusOK, in)
}

// statusOf returns the status with which the API refused, or one for an API that did not
// answer.
func statusOf(err error) int {
	if status := client.StatusOf(err); status != 0 {
		return status
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return http.StatusServiceUnavailable
	}
	return http.StatusBadGateway
}

func replyError(w http.ResponseWriter, status int, words string) {
	reply(w, status, map[string]string{"error": words})
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client has hung up
}
