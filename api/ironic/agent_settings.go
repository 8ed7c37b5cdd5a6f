package ironic

import (
	"time"

	"go.temper.dev/temper/internal/agent"
)

// AgentSettings are the settings for ramdisk agents.
type AgentSettings struct {
	// HeartbeatTimeout is the longest silence an agent may keep. Default 300 s.
	HeartbeatTimeout time.Duration
	// Callback says which callback URLs are believed.
	Callback agent.CallbackPolicy
	// ImageFormats an agent may write. Default raw, gpt, qcow2, iso, as in Ironic.
	ImageFormats []string
}
