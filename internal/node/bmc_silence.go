package node

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"
)

// BMCSilence is what all conductors know of a BMC that gives no answer. While it is recorded, one of them at a time asks the
// BMC, after pauses that grow. It is forgotten when the BMC answers again.
type BMCSilence struct {
	BMC     string    `json:"bmc"`      // Node.BMC when it was recorded
	Since   time.Time `json:"since"`    // when it gave no answer for the first time
	AskedAt time.Time `json:"asked_at"` // when it was asked last,
	AskedBy string    `json:"asked_by"` // by which conductor,
	Seen    string    `json:"seen"`     // and with which error
	NextAt  time.Time `json:"next_at"`  // nobody asks it before
	Asking  bool      `json:"asking"`   // AskedBy asks it since AskedAt, and its answer is awaited until NextAt at the latest
}

// The pauses between two requests to a silent BMC.
const (
	FirstSilentPause = 2 * time.Second
	MostSilentPause  = 30 * time.Second
	// slotShare bounds how much of the time conductors spend waiting for one silent BMC: one part in slotShare. If a request waits
	// long for its answer, the pause after it is longer, up to longestSilentPause.
	slotShare          = 5
	longestSilentPause = 2 * time.Minute
)

// SilentPause returns how long a BMC that has been silent for so long is not asked again, after somebody has waited for its
// answer for took. The pauses double, because each is as long as the silence.
func SilentPause(silentFor, took time.Duration) time.Duration {
	pause := min(max(silentFor, FirstSilentPause), MostSilentPause)
	return max(pause, min((slotShare-1)*took, longestSilentPause))
}

// BMC tells the node's BMC from others: nodes with the same value share one. It is a digest of what decides where the
// password is sent (Property.Decides). A node without such values has a BMC of its own.
func (n *Node) BMC() string {
	h, _ := Hardware(n.Driver)
	values, own := []any{n.Driver}, n.UUID
	for _, p := range h.Properties {
		if !p.Decides {
			continue
		}
		v := n.DriverInfo[p.Name]
		if values = append(values, v); v != nil {
			own = ""
		}
	}
	text, _ := json.Marshal(append(values, own)) // values that came as JSON
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// SilentBMC returns what is known of the silence of the node's BMC, nil if it is not known to be silent. What was recorded of
// the BMC that the node had before does not count.
func (n *Node) SilentBMC() *BMCSilence {
	if n.Silence == nil || n.Silence.BMC != n.BMC() {
		return nil
	}
	return n.Silence
}
