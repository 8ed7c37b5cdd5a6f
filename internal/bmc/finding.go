package bmc

import (
	"fmt"

	"go.temper.dev/temper/internal/fault"
)

// Finding says whether one thing that Temper asks of a BMC will work, as far as that can be told without doing it.
type Finding struct {
	Operation string `json:"operation"`
	Works     bool   `json:"works"`
	Words     string `json:"detail"` // what the BMC tells about it, or why it does not work
}

// Found returns a finding: that it works, with the words of format, or why not. err must hold no secrets.
func Found(what string, err error, format string, args ...any) Finding {
	if err != nil {
		return Finding{Operation: what, Words: fault.Text(err)}
	}
	return Finding{Operation: what, Works: true, Words: fmt.Sprintf(format, args...)}
}
