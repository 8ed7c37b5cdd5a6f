package node

import "time"

// Deleted is the record of a deleted node.
type Deleted struct {
	ID             int64 // of the record
	UUID, Name     string
	Driver         string
	Group          string
	ResourceClass  string
	ProvisionState State // "" = not known
	CreatedAt      *time.Time
	DeletedAt      time.Time
	DeletedBy      string // "" = not known, or the API needs no login
}

// DeletedFilter narrows a list of deleted nodes, newest first. A zero field does not narrow it.
type DeletedFilter struct {
	Node   string // uuid or name
	Limit  int    // 0 or more than MaxLimit = MaxLimit
	Marker int64  // id of the last record of the page before; 0 = the first page
}
