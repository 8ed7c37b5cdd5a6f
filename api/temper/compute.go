package temper

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/internal/audit"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/share"
)

// handOverAfter is the least age of an epoch that acknowledgements end: those of
// many services are taken together.
const handOverAfter = time.Second

// publishTimeout bounds the publishing of shares after the request has ended.
const publishTimeout = time.Minute

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
	if err := s.SpeaksFor(c, in.Host); err != nil {
		return 0, nil, err
	}
	in.By = httpd.User(c)
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
	if revision == 0 {
		audit.Of(ctx).Leave() // it has only renewed its lease
	}
	if revision > 0 {
		httpd.Logger(c).Info("compute service registered", zap.String("host", v.Host), zap.Int64("incarnation", v.Incarnation))
		// A service that does not wait so long finds the epoch when it asks again. It may not begin without shares, so
		// an error of publishing is answered, although the registration is committed: it registers again.
		lasting, cancel := context.WithTimeout(context.WithoutCancel(ctx), publishTimeout)
		defer cancel()
		p, err := s.Store.PublishShares(lasting, revision, share.Decide)
		if err != nil {
			return 0, nil, err
		}
		epoch = p.Epoch
	} else if p, err := s.Store.HandOverShares(ctx, handOverAfter); err == nil {
		epoch = max(epoch, p.Epoch)
	} else {
		httpd.Logger(c).Warn("shares not handed over, reconciliation will", zap.Error(err))
	}
	all, err := s.Store.ComputeServices(ctx)
	if err != nil {
		return 0, nil, err
	}
	split := share.NewSplit(all)
	body := showCompute(&v, split)
	body["epoch"], body["lease"] = epoch, v.LeaseUntil.Sub(v.SeenAt).Round(time.Millisecond).Seconds()
	body["warnings"] = format.List(split.Warnings(v.Host))
	return http.StatusOK, body, nil
}

// stopCompute ends the lease of a service that shows nothing any more, and gives
// its free nodes to others at once.
func (s *Server) stopCompute(c *gin.Context, in *computeHeartbeat) (int, any, error) {
	ctx := c.Request.Context()
	if err := s.Store.StopCompute(ctx, in.Host, in.Incarnation); err != nil {
		return 0, nil, err
	}
	s.publishShares(c, 0)
	return http.StatusNoContent, nil, nil
}

func readComputeHeartbeat(c *gin.Context) (*computeHeartbeat, error) {
	in, err := format.ReadObject(c, format.MaxBody, heartbeatParameters...)
	if err != nil {
		return nil, err
	}
	h := &computeHeartbeat{Heartbeat: share.Heartbeat{Host: c.Param("host"), SettingsError: in.Text("settings_error")}}
	if !node.ValidServiceName(h.Host) {
		in.Fail("A compute service can not be called '%s': letters, digits, dots, dashes and underscores, at most 254", format.Clip(h.Host))
	}
	if in.Has("partition_key") {
		key, err := partitionKey(in.Text("partition_key"))
		if err != nil {
			return nil, err
		}
		h.Key = &key
	}
	h.Peers = peers(in, "peer_list")
	if n := in.Integer("incarnation"); n != nil {
		h.Incarnation = *n
	}
	if n := in.Integer("acknowledged_epoch"); n != nil {
		h.Acknowledged = *n
	}
	if h.Incarnation < 0 || h.Acknowledged < 0 {
		in.Fail("incarnation and acknowledged_epoch can not be below 0")
	}
	for _, one := range in.List("gone_instances") {
		uuid, ok := one.(string)
		if !ok || !node.IsUUID(uuid) || len(h.gone) >= maxGone {
			in.Fail("Expected at most %d UUIDs for gone_instances", maxGone)
			break
		}
		h.gone = append(h.gone, node.CanonicalUUID(uuid))
	}
	if stop := in.Boolean("stopping"); stop != nil {
		h.stopping = *stop
	}
	return h, in.Err
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
func peers(o *format.Object, name string) []string {
	var words []string
	switch v := o.Fields[name].(type) {
	case nil:
		return nil
	case string:
		words = strings.Split(v, ",")
	case []any:
		for _, one := range v {
			s, ok := one.(string)
			if !ok {
				o.Fail("Expected a list of hosts for %s: %s", name, format.Describe(one))
			}
			words = append(words, s)
		}
	default:
		o.Fail("Expected a list of hosts for %s: %s", name, format.Describe(v))
	}
	out, err := peerList(words)
	if err != nil && o.Err == nil {
		o.Err = err
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
		case !node.ValidServiceName(w):
			return nil, fault.New(fault.Invalid, "peer_list: '%s' is no name of a compute service", format.Clip(w))
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
		"excluded": format.OrNull(split.Excluded(v.Host)), "settings_error": format.OrNull(v.SettingsError),
		// An earlier process of this name may publish still: this one does not.
		"quiet": v.Quiet, "registered_at": format.Timestamp(&v.RegisteredAt), "seen_at": format.Timestamp(&v.SeenAt), "lease_until": format.Timestamp(&v.LeaseUntil),
	}
	if v.Peers != nil {
		body["peer_list"] = strings.Join(v.Peers, ",")
	}
	return body
}

// listCompute answers GET /temper/v1/compute-services, with what an operator
// should know.
func (s *Server) listCompute(c *gin.Context) (int, any, error) {
	if q := format.ReadQuery(c); q.Err != nil {
		return 0, nil, q.Err
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
			"kind": r.Kind, "text": r.Text, "host": format.OrNull(r.Host), "conductor_group": r.Group, "nodes": r.Nodes,
			"some": format.List(r.Some), "since": format.Timestamp(r.Since),
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
	httpd.Logger(c).Info("compute service forgotten", zap.String("host", format.Clip(c.Param("host"))), zap.String("user", httpd.User(c)))
	s.publishShares(c, revision)
	return http.StatusNoContent, nil, nil
}

// publishShares publishes the shares after a change that is committed already, also for a client that has gone away. It
// returns their epoch. If that fails, it returns 0, and reconciliation publishes them.
func (s *Server) publishShares(c *gin.Context, revision int64) (epoch int64) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Request.Context()), publishTimeout)
	defer cancel()
	p, err := s.Store.PublishShares(ctx, revision, share.Decide)
	if err != nil {
		httpd.Logger(c).Warn("the shares could not be published; reconciliation will publish them", zap.Error(err))
	}
	return p.Epoch
}

// moveCompute answers POST /temper/v1/compute-services/move: the instances of a
// dead service, or those without one, become another's.
func (s *Server) moveCompute(c *gin.Context) (int, any, error) {
	in, err := format.ReadObject(c, format.MaxBody, "from", "to", "node")
	if err != nil {
		return 0, nil, err
	}
	in.Require("to")
	from, to, ident := in.Text("from"), in.Text("to"), node.CanonicalUUID(in.Text("node"))
	if in.Err == nil && to == "" {
		in.Fail("Expected the name of a compute service for to")
	}
	if in.Err != nil {
		return 0, nil, in.Err
	}
	moved, revision, err := s.Store.MoveCompute(c.Request.Context(), from, to, ident)
	if err != nil {
		return 0, nil, err
	}
	httpd.Logger(c).Info("instances moved", zap.String("from", format.Clip(from)), zap.String("to", format.Clip(to)), zap.Int("instances", moved), zap.String("user", httpd.User(c)))
	return http.StatusOK, gin.H{"moved": moved, "epoch": s.publishShares(c, revision)}, nil
}

// getComputeWhatIf answers GET /temper/v1/compute-services/what-if. Nothing is touched.
func (s *Server) getComputeWhatIf(c *gin.Context) (int, any, error) {
	q := format.ReadQuery(c, "service", "partition_key", "peer_list", "gone")
	change := share.Change{Host: q.Word("service")}
	if gone := q.Boolean("gone"); gone != nil {
		change.Gone = *gone
	}
	if !node.ValidServiceName(change.Host) {
		q.Fail("Expected the name of a compute service for service: %s", format.Clip(change.Host))
	}
	if k := q.Text("partition_key"); k != nil && q.Err == nil {
		key, err := partitionKey(*k)
		change.Key, q.Err = &key, err
	}
	if q.Err == nil {
		change.Peers, q.Err = peerList(strings.Split(q.Word("peer_list"), ","))
	}
	if q.Err != nil {
		return 0, nil, q.Err
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
		flows = append(flows, gin.H{"from": format.OrNull(f.From), "to": format.OrNull(f.To), "nodes": f.Nodes})
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
		out = append(out, gin.H{"partition_key": key, "before": format.List(before.Members(p)), "after": format.List(after.Members(p))})
	}
	return out
}
