package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"go.temper.dev/temper/internal/jsonvalue"
)

// ComputeHeartbeat is the heartbeat of a compute service.
type ComputeHeartbeat struct {
	PartitionKey      *string  `json:"partition_key"` // nil = unset; "" = the default group only
	PeerList          *string  `json:"peer_list"`     // hosts, comma-separated; nil = unset
	Incarnation       int64    `json:"incarnation"`   // grows with every start
	AcknowledgedEpoch int64    `json:"acknowledged_epoch"`
	SettingsError     string   `json:"settings_error,omitempty"`
	GoneInstances     []string `json:"gone_instances,omitempty"`
	Stopping          bool     `json:"stopping,omitempty"`
}

// ComputeService is a compute service as the API shows it.
type ComputeService struct {
	document
	Host              string     `json:"host"`
	PartitionKey      *string    `json:"partition_key"`
	PeerList          *string    `json:"peer_list"`
	Incarnation       int64      `json:"incarnation"`
	Live              bool       `json:"live"`
	Quiet             bool       `json:"quiet"` // an earlier process of this name may still publish
	Member            bool       `json:"member"`
	Excluded          string     `json:"excluded"`
	AcknowledgedEpoch int64      `json:"acknowledged_epoch"`
	SettingsError     string     `json:"settings_error"`
	SeenAt            *time.Time `json:"seen_at"`
	LeaseUntil        *time.Time `json:"lease_until"`
	Epoch             int64      `json:"epoch"`    // the published one; after a heartbeat
	Lease             float64    `json:"lease"`    // seconds; after a heartbeat
	Warnings          []string   `json:"warnings"` // after a heartbeat
	Nodes             int        `json:"nodes"`    // in a list
	Instances         int        `json:"instances"`
	Leaving           int        `json:"leaving"`
}

// UnmarshalJSON reads a service and keeps the answer.
func (v *ComputeService) UnmarshalJSON(raw []byte) error {
	type plain ComputeService
	err := jsonvalue.Unmarshal(raw, (*plain)(v))
	v.document = keep(raw)
	return err
}

// ComputeReport is something that an operator should know.
type ComputeReport struct {
	Kind  string     `json:"kind"`
	Text  string     `json:"text"`
	Host  string     `json:"host"`
	Group *string    `json:"conductor_group"`
	Nodes int        `json:"nodes"`
	Some  []string   `json:"some"`
	Since *time.Time `json:"since"`
}

// ComputeNode is a node in the share of a service. The service publishes its fields unchanged, except reserved and requires.
type ComputeNode struct {
	UUID          string   `json:"uuid"`
	Name          *string  `json:"name"`
	ResourceClass *string  `json:"resource_class"`
	Traits        []string `json:"traits"`
	State         string   `json:"provision_state"`
	InstanceUUID  *string  `json:"instance_uuid"`
	InstanceGone  bool     `json:"instance_gone"`
	Total         int      `json:"total"`
	Used          int      `json:"used"`
	Reserved      int      `json:"reserved"`
	Requires      []string `json:"requires"`
}

const computeServices = "/temper/v1/compute-services"

// Compute sends a heartbeat, which also registers a new service.
func (c *Client) Compute(ctx context.Context, host string, h ComputeHeartbeat) (*ComputeService, error) {
	var v ComputeService
	r := request{method: http.MethodPut, path: computeServices + "/" + segment(host), body: h}
	if h.Stopping {
		_, err := c.do(ctx, r, nil)
		return nil, err
	}
	_, err := c.do(ctx, r, &v)
	return &v, err
}

// sharePage is the number of nodes in one page of a share.
const sharePage = 5000

// ComputeShare returns the whole share of a service in an epoch, for a client that knows the field requires. StatusOf the error
// is 409 if another epoch is published.
func (c *Client) ComputeShare(ctx context.Context, host string, epoch int64) ([]ComputeNode, error) {
	q := url.Values{"epoch": {strconv.FormatInt(epoch, 10)}, "knows": {"requires"}, "limit": {strconv.Itoa(sharePage)}}
	nodes := []ComputeNode{}
	for {
		var page struct {
			Nodes []ComputeNode `json:"nodes"`
			Next  string        `json:"next"`
		}
		r := request{method: http.MethodGet, path: computeServices + "/" + segment(host) + "/nodes", query: q}
		if _, err := c.do(ctx, r, &page); err != nil {
			return nil, err
		}
		nodes = append(nodes, page.Nodes...)
		if len(page.Nodes) < sharePage || page.Next == "" {
			return nodes, nil
		}
		q.Set("marker", page.Nodes[len(page.Nodes)-1].UUID)
	}
}

// ClaimNode sets the instance_uuid of a node in the name of a compute service.
// knows says that the scheduler knows the field requires of nodes in maintenance.
func (c *Client) ClaimNode(ctx context.Context, service, node, instance string, knows bool) error {
	q := url.Values{}
	if knows {
		q.Set("knows", "requires")
	}
	_, err := c.do(ctx, request{
		method: http.MethodPatch, path: "/v1/nodes/" + segment(node), query: q, service: service,
		body: []map[string]string{{"op": "add", "path": "/instance_uuid", "value": instance}},
	}, nil)
	return err
}

// ComputeServices returns the registered services, the published epoch, and the reports about them.
func (c *Client) ComputeServices(ctx context.Context) (epoch int64, services []ComputeService, reports []ComputeReport, err error) {
	var body struct {
		Epoch    int64            `json:"epoch"`
		Services []ComputeService `json:"compute_services"`
		Reports  []ComputeReport  `json:"reports"`
	}
	_, err = c.do(ctx, request{method: http.MethodGet, path: computeServices}, &body)
	return body.Epoch, body.Services, body.Reports, err
}

// ForgetCompute removes a dead service.
func (c *Client) ForgetCompute(ctx context.Context, host string) error {
	_, err := c.do(ctx, request{method: http.MethodDelete, path: computeServices + "/" + segment(host)}, nil)
	return err
}

// MoveCompute gives the instances of a dead service to another, and returns their number. from "" = the instances without a
// service; node "" = all nodes.
func (c *Client) MoveCompute(ctx context.Context, from, to, node string) (int, error) {
	var body struct {
		Moved int `json:"moved"`
	}
	_, err := c.do(ctx, request{
		method: http.MethodPost, path: computeServices + "/move", body: map[string]string{"from": from, "to": to, "node": node},
	}, &body)
	return body.Moved, err
}

// ComputeWhatIf is what would change with a service.
type ComputeWhatIf struct {
	document
	Epoch   int64 `json:"epoch"`
	Members []struct {
		PartitionKey *string  `json:"partition_key"` // nil: the rest
		Before       []string `json:"before"`
		After        []string `json:"after"`
	} `json:"members"`
	Moves []struct {
		From  string `json:"from"` // "" = nobody
		To    string `json:"to"`
		Nodes int    `json:"nodes"`
	} `json:"moves"`
	Reports []ComputeReport `json:"reports"`
}

// UnmarshalJSON reads it and keeps the answer.
func (w *ComputeWhatIf) UnmarshalJSON(raw []byte) error {
	type plain ComputeWhatIf
	err := jsonvalue.Unmarshal(raw, (*plain)(w))
	w.document = keep(raw)
	return err
}

// WhatIfCompute says which nodes would move if a service had these settings, or were gone.
func (c *Client) WhatIfCompute(ctx context.Context, service string, key *string, peers string, gone bool) (*ComputeWhatIf, error) {
	q := url.Values{"service": {service}}
	if key != nil {
		q.Set("partition_key", *key)
	}
	if peers != "" {
		q.Set("peer_list", peers)
	}
	if gone {
		q.Set("gone", "true")
	}
	var w ComputeWhatIf
	_, err := c.do(ctx, request{method: http.MethodGet, path: computeServices + "/what-if", query: q}, &w)
	return &w, err
}
