package api

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/share"
)

// headerCompute names the compute service that claims a node.
const headerCompute = "Temper-Compute-Service"

// handOverAfter is the least age of an epoch that acknowledgements end: those of
// many services are taken together.
const handOverAfter = time.Second

// computeHost is what services may be called: as conductors.
var computeHost = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,253}$`)

var heartbeatParameters = []string{
	"partition_key", "peer_list", "incarnation", "acknowledged_epoch", "settings_error", "gone_instances", "stopping",
}

// computeHeartbeat is the body of a PUT of a compute service.
type computeHeartbeat struct {
	share.Heartbeat
	gone     []string // instances of its own that it knows to be gone
	stopping bool
}

// putCompute answers PUT /temper/v1/compute-services/HOST: it registers the
// service or renews its lease. A new service is in the published epoch before
// it is answered.
func (s *Server) putCompute(c *gin.Context) (int, any, error) {
	in, err := readComputeHeartbeat(c)
	if err != nil {
		return 0, nil, err
	}
	ctx := c.Request.Context()
	if in.stopping {
		return s.stopCompute(c, in)
	}
	v, epoch, revision, err := s.Store.ComputeHeartbeat(ctx, in.Heartbeat)
	if err != nil {
		return 0, nil, err
	}
	if err := s.Store.ConfirmAbsent(ctx, in.Host, in.gone); err != nil {
		return 0, nil, err
	}
	if revision > 0 {
		logger(c).Info("compute service registered", zap.String("host", v.Host), zap.Int64("incarnation", v.Incarnation))
		// A service that does not wait so long finds the epoch when it asks again.
		lasting, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.RequestTimeout)
		defer cancel()
		p, err := s.Store.PublishShares(lasting, revision, share.Decide)
		if err != nil {
			return 0, nil, err
		}
		epoch = p.Epoch
	} else if p, err := s.Store.HandOverShares(ctx, handOverAfter); err == nil {
		epoch = max(epoch, p.Epoch)
	} else {
		logger(c).Warn("shares not handed over, reconciliation will", zap.Error(err))
	}
	all, err := s.Store.ComputeServices(ctx)
	if err != nil {
		return 0, nil, err
	}
	split := share.NewSplit(all)
	body := showCompute(&v, split)
	body["epoch"], body["lease"] = epoch, v.LeaseUntil.Sub(v.SeenAt).Round(time.Millisecond).Seconds()
	body["warnings"] = list(split.Warnings(v.Host))
	return http.StatusOK, body, nil
}

// stopCompute ends the lease of a service that shows nothing any more, and gives
// its free nodes to others at once.
func (s *Server) stopCompute(c *gin.Context, in *computeHeartbeat) (int, any, error) {
	ctx := c.Request.Context()
	if err := s.Store.StopCompute(ctx, in.Host, in.Incarnation); err != nil {
		return 0, nil, err
	}
	if _, err := s.Store.PublishShares(ctx, 0, share.Decide); err != nil {
		logger(c).Warn("shares not published, reconciliation will", zap.Error(err))
	}
	return http.StatusNoContent, nil, nil
}

func readComputeHeartbeat(c *gin.Context) (*computeHeartbeat, error) {
	in, err := readObject(c, maxBody, heartbeatParameters...)
	if err != nil {
		return nil, err
	}
	h := &computeHeartbeat{Heartbeat: share.Heartbeat{Host: c.Param("host"), SettingsError: in.text("settings_error")}}
	if !computeHost.MatchString(h.Host) {
		in.fail("A compute service can not be called '%s': letters, digits, dots, dashes and underscores, at most 254", clip(h.Host))
	}
	if in.has("partition_key") {
		key, err := partitionKey(in.text("partition_key"))
		if err != nil {
			return nil, err
		}
		h.Key = &key
	}
	h.Peers = in.peers("peer_list")
	if n := in.integer("incarnation"); n != nil {
		h.Incarnation = *n
	}
	if n := in.integer("acknowledged_epoch"); n != nil {
		h.Acknowledged = *n
	}
	if h.Incarnation < 0 || h.Acknowledged < 0 {
		in.fail("incarnation and acknowledged_epoch can not be below 0")
	}
	if hasNUL(h.SettingsError) {
		in.fail("settings_error holds a NUL character")
	}
	for _, one := range in.list("gone_instances") {
		uuid, ok := one.(string)
		if !ok || !isUUID(uuid) || len(h.gone) >= maxGone {
			in.fail("Expected at most %d UUIDs for gone_instances", maxGone)
			break
		}
		h.gone = append(h.gone, canonicalUUID(uuid))
	}
	if stop := in.boolean("stopping"); stop != nil {
		h.stopping = *stop
	}
	return h, in.err
}

// maxGone bounds what one heartbeat confirms.
const maxGone = 1000

func partitionKey(s string) (string, error) {
	key, err := node.ValidConductorGroup(s)
	if err != nil {
		return "", fault.New(fault.Invalid, "partition_key is no conductor group: %w", err)
	}
	return key, nil
}

// peers is a list of hosts, with commas or as an array; nil = none is set.
func (o *object) peers(name string) []string {
	var words []string
	switch v := o.fields[name].(type) {
	case nil:
		return nil
	case string:
		words = strings.Split(v, ",")
	case []any:
		for _, one := range v {
			s, ok := one.(string)
			if !ok {
				o.fail("Expected a list of hosts for %s: %s", name, describe(one))
			}
			words = append(words, s)
		}
	default:
		o.fail("Expected a list of hosts for %s: %s", name, describe(v))
	}
	out, err := peerList(words)
	if err != nil && o.err == nil {
		o.err = err
	}
	return out
}

// maxPeers bounds a peer list.
const maxPeers = 1000

func peerList(words []string) ([]string, error) {
	var out []string
	for _, w := range words {
		w = strings.TrimSpace(w)
		switch {
		case w == "":
			continue
		case !computeHost.MatchString(w):
			return nil, fault.New(fault.Invalid, "peer_list: '%s' is no name of a compute service", clip(w))
		case len(out) >= maxPeers:
			return nil, fault.New(fault.Invalid, "peer_list has more than %d hosts", maxPeers)
		}
		if w = share.Fold(w); !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out, nil
}

// showCompute is a service in the shape of /temper/v1.
func showCompute(v *share.Service, split *share.Split) gin.H {
	body := gin.H{
		"host": v.Host, "partition_key": v.Key, "peer_list": nil, "incarnation": v.Incarnation, "live": v.Live,
		"acknowledged_epoch": v.Acknowledged, "member": slices.Contains(split.Members(v.Partition()), v.Name()),
		"excluded": orNull(split.Excluded(v.Host)), "settings_error": orNull(v.SettingsError),
		// An earlier process of this name may publish still: this one does not.
		"quiet": v.Quiet, "registered_at": timestamp(&v.RegisteredAt), "seen_at": timestamp(&v.SeenAt), "lease_until": timestamp(&v.LeaseUntil),
	}
	if v.Peers != nil {
		body["peer_list"] = strings.Join(v.Peers, ",")
	}
	return body
}

// listCompute answers GET /temper/v1/compute-services, with what an operator
// should know.
func (s *Server) listCompute(c *gin.Context) (int, any, error) {
	if q := readQuery(c); q.err != nil {
		return 0, nil, q.err
	}
	o, err := s.Store.ShareOverview(c.Request.Context())
	if err != nil {
		return 0, nil, err
	}
	split := share.NewSplit(o.Services)
	out := make([]gin.H, 0, len(o.Services))
	for i := range o.Services {
		v := &o.Services[i]
		body, load := showCompute(v, split), o.Loads[v.ID]
		body["nodes"], body["instances"], body["leaving"] = load.Nodes, load.Instances, load.Leaving
		out = append(out, body)
	}
	return http.StatusOK, gin.H{"epoch": o.Epoch, "compute_services": out, "reports": showReports(split.Reports(o.Tallies))}, nil
}

func showReports(reports []share.Report) []gin.H {
	out := make([]gin.H, 0, len(reports))
	for _, r := range reports {
		out = append(out, gin.H{
			"kind": r.Kind, "text": r.Text, "host": orNull(r.Host), "conductor_group": r.Group, "nodes": r.Nodes,
			"some": list(r.Some), "since": timestamp(r.Since),
		})
	}
	return out
}

// deleteCompute answers DELETE /temper/v1/compute-services/HOST: forget. 409 while it lives.
func (s *Server) deleteCompute(c *gin.Context) (int, any, error) {
	revision, err := s.Store.ForgetCompute(c.Request.Context(), c.Param("host"))
	if err != nil {
		return 0, nil, err
	}
	logger(c).Info("compute service forgotten", zap.String("host", clip(c.Param("host"))), zap.String("user", user(c)))
	_, err = s.Store.PublishShares(c.Request.Context(), revision, share.Decide)
	return http.StatusNoContent, nil, err
}

// moveCompute answers POST /temper/v1/compute-services/move: the instances of a
// dead service, or those without one, become another's.
func (s *Server) moveCompute(c *gin.Context) (int, any, error) {
	in, err := readObject(c, maxBody, "from", "to", "node")
	if err != nil {
		return 0, nil, err
	}
	in.need("to")
	from, to, ident := in.text("from"), in.text("to"), canonicalUUID(in.text("node"))
	if in.err == nil && to == "" {
		in.fail("Expected the name of a compute service for to")
	}
	if hasNUL(from) || hasNUL(to) || hasNUL(ident) {
		in.fail("A name holds a NUL character")
	}
	if in.err != nil {
		return 0, nil, in.err
	}
	moved, revision, err := s.Store.MoveCompute(c.Request.Context(), from, to, ident)
	if err != nil {
		return 0, nil, err
	}
	logger(c).Info("instances moved", zap.String("from", clip(from)), zap.String("to", clip(to)), zap.Int("instances", moved), zap.String("user", user(c)))
	p, err := s.Store.PublishShares(c.Request.Context(), revision, share.Decide)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, gin.H{"moved": moved, "epoch": p.Epoch}, nil
}

// getComputeWhatIf answers GET /temper/v1/compute-services/what-if. Nothing is touched.
func (s *Server) getComputeWhatIf(c *gin.Context) (int, any, error) {
	q := readQuery(c, "service", "partition_key", "peer_list", "gone")
	change := share.Change{Host: q.word("service")}
	if gone := q.boolean("gone"); gone != nil {
		change.Gone = *gone
	}
	if !computeHost.MatchString(change.Host) {
		q.fail("Expected the name of a compute service for service: %s", clip(change.Host))
	}
	if k := q.text("partition_key"); k != nil && q.err == nil {
		key, err := partitionKey(*k)
		change.Key, q.err = &key, err
	}
	if q.err == nil {
		change.Peers, q.err = peerList(strings.Split(q.word("peer_list"), ","))
	}
	if q.err != nil {
		return 0, nil, q.err
	}
	ctx := c.Request.Context()
	st, err := s.Store.ShareState(ctx)
	if err != nil {
		return 0, nil, err
	}
	o, err := s.Store.ShareOverview(ctx)
	if err != nil {
		return 0, nil, err
	}
	after := share.NewSplit(change.Apply(st.Services))
	flows := []gin.H{}
	for _, f := range after.Flows(st.Nodes) {
		flows = append(flows, gin.H{"from": orNull(f.From), "to": orNull(f.To), "nodes": f.Nodes})
	}
	return http.StatusOK, gin.H{
		"epoch": st.Epoch, "members": showMembers(share.NewSplit(st.Services), after), "moves": flows,
		"reports": showReports(after.Reports(o.Tallies)),
	}, nil
}

func showMembers(before, after *share.Split) []gin.H {
	out := []gin.H{}
	for _, p := range share.Partitions(before, after) {
		var key *string
		if p.Named {
			key = &p.Group
		}
		out = append(out, gin.H{"partition_key": key, "before": list(before.Members(p)), "after": list(after.Members(p))})
	}
	return out
}
