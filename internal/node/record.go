package node

import "time"

// Record is what all rows have that clients create, change and delete one by one.
type Record struct {
	ID        int64 // row number; the order of lists
	UUID      string
	CreatedAt time.Time
	UpdatedAt *time.Time
}
