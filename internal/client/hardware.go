package client

import (
	"context"
	"net/http"
	"time"
)

// Hardware is how a node's hardware differs from what it was, and from that of other nodes.
type Hardware struct {
	document
	CollectedAt  *time.Time       `json:"collected_at"`
	Facts        []Fact           `json:"facts"`
	Disks        []Disk           `json:"disks"`
	ChangedSince *time.Time       `json:"changed_since"` // when the inspection before was; nil = there was none
	Changes      []HardwareChange `json:"changes"`
	MoreChanges  int              `json:"more_changes"`
	Siblings     struct {
		ResourceClass string           `json:"resource_class"`
		Compared      int              `json:"compared"`
		Differences   []FactDifference `json:"differences"`
	} `json:"siblings"`
}

// Fact is something about the hardware, such as its memory modules.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Disk is a disk, with what root device hints can name it by. Facts that are not known are "".
type Disk struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"` // bytes; 0 = not known
	Model  string `json:"model"`
	Serial string `json:"serial"`
	WWN    string `json:"wwn"`
}

// HardwareChange is a part that was added, is gone or is another one.
type HardwareChange struct {
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	Before string `json:"before"`
	After  string `json:"after"`
	Text   string `json:"text"`
}

// FactDifference is a fact in which a node differs from most nodes of its resource class.
type FactDifference struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Usual string `json:"usual"`
	Nodes int    `json:"nodes"` // that have the usual value
	Of    int    `json:"of"`    // that have any value
}

// Hardware compares the last inspection of a node with the one before, and with other nodes.
func (c *Client) Hardware(ctx context.Context, ident string) (*Hardware, error) {
	var h Hardware
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/temper/v1/nodes/" + segment(ident) + "/inventory"}, &h)
	return &h, err
}
