package agent

import "go.temper.dev/temper/internal/jsonlimit"

// Limits on what an agent answers, in addition to Settings.MaxBody.
const (
	maxRefusal  = 64 << 10  // bytes of an answer whose status is not 200; the rest is not read
	maxText     = 64 << 10  // bytes of a string; the rest is dropped
	maxKept     = 4 << 20   // bytes of an answer after long strings were cut
	maxElements = 100_000   // JSON elements of an answer; the list of commands repeats their parameters
	maxCommands = 1000      // commands that an agent lists
	maxSteps    = 512       // steps that an agent offers
	maxOffer    = 128 << 10 // bytes that describe the offered steps; they are stored on the node
)

// answers limits the memory for all answers of agents that this process reads at once.
// Almost all are so small that they don't count.
var answers = jsonlimit.NewBudget(48<<20, 8<<10, 2)

// limits returns the limits on the answer to a request. That to CollectLogs is one long string.
func (c *Client) limits(request string) jsonlimit.Limits {
	text := int64(maxText)
	if request == CollectLogs {
		text = maxKept / 2
	}
	return jsonlimit.Limits{Bytes: c.settings.MaxBody, Text: text, Kept: min(maxKept, c.settings.MaxBody), Elements: maxElements, Depth: 64}
}
