package client

import (
	"context"
	"net/http"
	"time"

	"go.temper.dev/temper/internal/jsonvalue"
)

// Webhook is an endpoint to which events are sent.
type Webhook struct {
	document
	Name         string     `json:"name"`
	URL          string     `json:"url"`
	State        string     `json:"state"` // ok, failing, disabled
	Deliveries   int64      `json:"deliveries"`
	DeadLetters  int        `json:"dead_letters"`
	DeliveredAt  *time.Time `json:"delivered_at"`
	FailingSince *time.Time `json:"failing_since"`
	LastError    string     `json:"last_error"`
}

// UnmarshalJSON reads a webhook and keeps the answer.
func (w *Webhook) UnmarshalJSON(raw []byte) error {
	type plain Webhook
	err := jsonvalue.Unmarshal(raw, (*plain)(w))
	w.document = keep(raw)
	return err
}

// DeadLetter is an event that was given up for a webhook.
type DeadLetter struct {
	document
	Event        int64      `json:"event"`
	Type         string     `json:"type"`
	At           *time.Time `json:"at"`
	GivenUpAt    *time.Time `json:"given_up_at"`
	Error        string     `json:"error"`
	Redelivering bool       `json:"redelivering"`
}

// UnmarshalJSON reads a dead letter and keeps the answer.
func (d *DeadLetter) UnmarshalJSON(raw []byte) error {
	type plain DeadLetter
	err := jsonvalue.Unmarshal(raw, (*plain)(d))
	d.document = keep(raw)
	return err
}

const webhooksPath = "/temper/v1/webhooks"

// Webhooks lists all webhooks. There are few: they come in one page.
func (c *Client) Webhooks(ctx context.Context) ([]Webhook, error) {
	var body struct {
		Webhooks []Webhook `json:"webhooks"`
	}
	_, err := c.do(ctx, request{method: http.MethodGet, path: webhooksPath}, &body)
	return body.Webhooks, err
}

// Webhook returns a webhook by its name.
func (c *Client) Webhook(ctx context.Context, name string) (*Webhook, error) {
	var w Webhook
	_, err := c.do(ctx, request{method: http.MethodGet, path: webhooksPath + "/" + segment(name)}, &w)
	return &w, err
}

// CreateWebhook creates a webhook with these fields.
func (c *Client) CreateWebhook(ctx context.Context, fields map[string]any) (*Webhook, error) {
	var w Webhook
	_, err := c.do(ctx, request{method: http.MethodPost, path: webhooksPath, body: fields}, &w)
	return &w, err
}

// ChangeWebhook changes these fields of a webhook.
func (c *Client) ChangeWebhook(ctx context.Context, name string, fields map[string]any) (*Webhook, error) {
	var w Webhook
	_, err := c.do(ctx, request{method: http.MethodPatch, path: webhooksPath + "/" + segment(name), body: fields}, &w)
	return &w, err
}

// DeleteWebhook deletes a webhook with its dead letters.
func (c *Client) DeleteWebhook(ctx context.Context, name string) error {
	_, err := c.do(ctx, request{method: http.MethodDelete, path: webhooksPath + "/" + segment(name)}, nil)
	return err
}

// WebhookTest is what came of a test message.
type WebhookTest struct {
	Delivered bool   `json:"delivered"`
	Error     string `json:"error"` // "" = it was delivered
}

// TestWebhook has the API send a webhook one message.
func (c *Client) TestWebhook(ctx context.Context, name string) (*WebhookTest, error) {
	var t WebhookTest
	_, err := c.do(ctx, request{method: http.MethodPost, path: webhooksPath + "/" + segment(name) + "/test", body: map[string]any{}}, &t)
	return &t, err
}

// DeadLetters lists at most limit dead letters of a webhook (0 = DefaultLimit), oldest first.
func (c *Client) DeadLetters(ctx context.Context, name string, limit int) (List[DeadLetter], error) {
	return pages[DeadLetter](ctx, c, webhooksPath+"/"+segment(name)+"/dead-letters", nil, "dead_letters", limit)
}

// Redelivery says how many dead letters are sent once more.
type Redelivery struct {
	Redelivering int `json:"redelivering"`
}

// RedeliverEvents has a dead letter sent once more, or all of them (event 0).
func (c *Client) RedeliverEvents(ctx context.Context, name string, event int64) (*Redelivery, error) {
	body := map[string]any{}
	if event != 0 {
		body["event"] = event
	}
	var r Redelivery
	_, err := c.do(ctx, request{method: http.MethodPost, path: webhooksPath + "/" + segment(name) + "/redeliver", body: body}, &r)
	return &r, err
}
