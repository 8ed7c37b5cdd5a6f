package main

import (
	"context"
	"slices"
	"time"
)

// row is something that happens to operations.
type row struct {
	name   string
	holds  string                                    // what must hold, besides what always must
	points func(k kind) ([]point, error)             // where it happens
	happen func(ctx context.Context, r *round) error // the nodes are ready; returns when all operations have ended
	within time.Duration                             // the longest time until another process works on the step
	atOnce int                                       // the most cases that are tried at the same time, so that they do not slow each other down; 0 = options.atOnce
	group  string                                    // conductor group of the nodes and of who serves them
	judge  func(ctx context.Context, l *lab, t *trial) error
}

// elsewhere is how long to wait until another process works on a step.
const elsewhere = 30 * time.Second

// rows are the rows of the matrix.
var rows = slices.Concat(conductorRows, cutRows, outageRows, roleRows, awayRows, storageRows, maintenanceRows, workflowRows, pauseRows, answerRows, slowRows, bmcRows, agentRows)
