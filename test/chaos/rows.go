package main

import (
	"context"
	"slices"
	"time"
)

// row is something that happens.
type row struct {
	name   string
	holds  string                                    // what must hold, beside what must always
	points func(k kind) ([]point, error)             // where it happens
	happen func(ctx context.Context, r *round) error // the nodes are ready; returns when all operations have ended
	within time.Duration                             // no case may take longer until somebody else is at work
	atOnce int                                       // cases that share what happens, at the most: what is timed is not to wait for the others; 0 = as options say
	group  string                                    // conductor group of the nodes and of who serves them
	judge  func(ctx context.Context, l *lab, t *trial) error
}

// elsewhere is how long is waited for somebody else to be at work.
const elsewhere = 30 * time.Second

// rows are the matrix.
var rows = slices.Concat(conductorRows, cutRows, outageRows, roleRows, awayRows, storageRows, maintenanceRows, workflowRows, pauseRows, answerRows, agentRows)
