package node

import "time"

// Medium is what the CD tells an agent from which it boots once, beside its node and its token.
type Medium struct {
	APIURLs       []string       `json:"api_urls"`                 // of the API for agents, tried in this order
	InspectionURL string         `json:"inspection_url,omitempty"` // where the agent posts its inventory; "" = nowhere
	Append        string         `json:"append,omitempty"`         // is added to the kernel's command line
	NetworkData   map[string]any `json:"network_data,omitempty"`   // in OpenStack's format; empty = the agent asks by DHCP
}

// BootMedium is the medium of a boot that begins.
type BootMedium struct {
	Medium
	Token   string                    // of the agent
	KeyHash func(token string) []byte // SHA-256 of the part of its path that nobody can guess
}

// ServedMedium is a medium that its server reads.
type ServedMedium struct {
	Medium
	Node  string // uuid
	Token string // of the agent
}

// MediumReads tells how far the server has read its medium.
type MediumReads struct {
	First, Last time.Time
	Bytes       int64
}
