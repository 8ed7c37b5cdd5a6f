package compute

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"go.temper.dev/temper/internal/client"
)

// inventory is what /inventory answers.
type inventory struct {
	Host  string               `json:"host"`
	Epoch int64                `json:"epoch"` // 0 = the service holds nothing
	Live  bool                 `json:"live"`
	Nodes []client.ComputeNode `json:"nodes"`
}

// Handler serves what the service publishes at /inventory, and takes claims at
// /claims. Without a lease it shows no node and takes no claim.
func (s *Service) Handler() http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("GET /inventory", s.getInventory)
	m.HandleFunc("POST /claims", s.postClaim)
	return m
}

func (s *Service) getInventory(w http.ResponseWriter, r *http.Request) {
	epoch, nodes, _, live := s.look()
	out := inventory{Host: s.Host, Epoch: epoch, Live: live, Nodes: nodes}
	if !knows(r) {
		out.Nodes = reserved(nodes)
	}
	if out.Nodes == nil {
		out.Nodes = []client.ComputeNode{}
	}
	reply(w, http.StatusOK, out)
}

// knows reports whether the client understands requires.
func knows(r *http.Request) bool {
	return slices.Contains(strings.Split(r.URL.Query().Get("knows"), ","), "requires")
}

// reserved is a share for clients that do not know requires: what needs to be
// asked for is not to be had.
func reserved(nodes []client.ComputeNode) []client.ComputeNode {
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

// postClaim claims a node that is shown for an instance. The API decides; a
// service that has no lease does not ask it.
func (s *Service) postClaim(w http.ResponseWriter, r *http.Request) {
	var in claim
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 4<<10)).Decode(&in); err != nil || in.Node == "" || in.Instance == "" {
		refuse(w, http.StatusBadRequest, "want node_uuid and instance_uuid")
		return
	}
	_, nodes, until, live := s.look()
	if !live {
		refuse(w, http.StatusServiceUnavailable, "this compute service can't renew its lease")
		return
	}
	if !slices.ContainsFunc(nodes, func(n client.ComputeNode) bool { return n.UUID == in.Node }) {
		refuse(w, http.StatusConflict, "the node is not in the share of this compute service")
		return
	}
	ctx, cancel := context.WithDeadline(r.Context(), until)
	defer cancel()
	if err := s.API.ClaimNode(ctx, s.Host, in.Node, in.Instance, knows(r)); err != nil {
		refuse(w, statusOf(err), err.Error())
		return
	}
	reply(w, http.StatusOK, in)
}

// statusOf passes a refusal of the API on.
func statusOf(err error) int {
	if status := client.StatusOf(err); status != 0 {
		return status
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return http.StatusServiceUnavailable
	}
	return http.StatusBadGateway
}

func refuse(w http.ResponseWriter, status int, words string) {
	reply(w, status, map[string]string{"error": words})
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // whoever asked has gone away
}
