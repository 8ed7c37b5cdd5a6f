package status

import (
	"fmt"
	"strings"
	"time"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/finding"
	"go.temper.dev/temper/internal/help"
	"go.temper.dev/temper/internal/text"
)

// Deliveries is how the deliveries of a webhook go.
type Deliveries struct {
	Webhook      string
	Enabled      bool
	FailingSince *time.Time // nil = the newest try did not fail
	Attempts     int        // that failed since then
	LastError    string     // of the newest of them
	DeadLetters  int
	DeadSince    *time.Time // when the first of them was given up; nil = there are none
}

// WebhookTrouble is what is wrong with the deliveries of a webhook. No part of Temper is broken then.
type WebhookTrouble struct {
	Since    *time.Time    // when it began
	Sentence string        // without a full stop
	Actions  []help.Action // what somebody can do about it
}

// WebhookFails returns what is wrong with d; nil = nothing is. Only here is decided whether a webhook is mentioned.
func WebhookFails(d Deliveries) *WebhookTrouble {
	var out WebhookTrouble
	var words []string
	if d.Enabled && d.FailingSince != nil {
		out.Since = d.FailingSince
		words = append(words, fmt.Sprintf("the newest delivery has failed %s%s", text.Count(d.Attempts, "time", "times"), text.Because(finding.Clean(d.LastError))))
		out.Actions = append(out.Actions, help.Action{Do: fault.ShowWebhook, Webhook: d.Webhook})
	}
	if d.DeadLetters > 0 {
		if out.Since == nil || d.DeadSince != nil && d.DeadSince.Before(*out.Since) {
			out.Since = d.DeadSince
		}
		words = append(words, text.Count(d.DeadLetters, "event was given up", "events were given up"))
		out.Actions = append(out.Actions, help.Action{Do: fault.ListDeadLetters, Webhook: d.Webhook}, help.Action{Do: fault.Redeliver, Webhook: d.Webhook})
	}
	if words == nil {
		return nil
	}
	out.Sentence = fmt.Sprintf("webhook %s: %s", d.Webhook, strings.Join(words, ", and "))
	return &out
}
