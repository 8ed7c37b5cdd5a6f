package node

import (
	"time"

	"go.temper.dev/temper/internal/text"
)

// Medium is what the CD tells an agent that boots once, beside its node and its token, or what a boot by network tells it.
type Medium struct {
	// Network is that the server boots by network. Then no token is on the way: whoever has the MAC of a port gets the files.
	Network bool `json:"network,omitempty"`
	HTTP    bool `json:"http,omitempty"` // UEFI loads iPXE by HTTP, and not by TFTP
	// Kernel and Initrd are from where the API fetches the kernel and the initrd of the CD: URLs, or absolute paths; "" = it has those
	// of Temper's ramdisk.
	Kernel        string         `json:"kernel,omitempty"`
	Initrd        string         `json:"initrd,omitempty"`
	APIURLs       []string       `json:"api_urls"`                 // of the API for agents, tried in this order
	InspectionURL string         `json:"inspection_url,omitempty"` // where the agent posts its inventory; "" = nowhere
	Append        string         `json:"append,omitempty"`         // is added to the kernel's command line
	NetworkData   map[string]any `json:"network_data,omitempty"`   // in OpenStack's format; empty = the agent asks by DHCP
}

// BootMedium is the medium of a boot that begins.
type BootMedium struct {
	Medium
	Token   string                    // of the agent
	KeyHash func(token string) []byte // SHA-256 of the secret part of its path
}

// NetworkMedium is what a server that boots by network loads.
type NetworkMedium struct {
	Medium
	Node    string // uuid
	KeyHash []byte // by which its reads are recorded
}

// ServedMedium is a medium that its server reads.
type ServedMedium struct {
	Medium
	Node  string // uuid
	Token string // of the agent
}

// MediumReads tells how far a server has read the medium of its boot.
type MediumReads struct {
	Since *time.Time // when it began
	At    *time.Time // when it read last
	Bytes int64      // read, some of them perhaps twice
	// Network is that it was no CD, but the files of a boot by network.
	Network bool
}

// Words says it in a clause. Reads are recorded once a second.
func (r *MediumReads) Words() string {
	words := text.Size(float64(r.Bytes)) + " of its CD"
	if r.Network {
		words = text.Size(float64(r.Bytes)) + " of its kernel and initrd"
	}
	if took := r.At.Sub(*r.Since); took >= time.Second {
		words += " within " + text.Span(took)
	}
	return words
}
