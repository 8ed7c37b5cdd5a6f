package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"go.temper.dev/temper/internal/jsonvalue"
)

// AuditEntry says who asked for which change, and what came of it.
type AuditEntry struct {
	document
	ID        string    `json:"id"`
	At        time.Time `json:"at"`
	User      string    `json:"user"`
	Method    string    `json:"method"`
	From      string    `json:"from"`
	RequestID string    `json:"request_id"`
	Rule      string    `json:"rule"`
	Route     string    `json:"route"`
	NodeUUID  string    `json:"node_uuid"`
	NodeName  string    `json:"node_name"`
	Kind      string    `json:"kind"`
	Target    string    `json:"target"`
	Operation string    `json:"operation"`
	What      []string  `json:"what"`
	Reason    string    `json:"reason"`
	Outcome   string    `json:"outcome"`
	Status    int       `json:"status"`
	Count     int       `json:"count"`
}

// UnmarshalJSON reads an entry and keeps the answer.
func (e *AuditEntry) UnmarshalJSON(raw []byte) error {
	type plain AuditEntry
	err := jsonvalue.Unmarshal(raw, (*plain)(e))
	e.document = keep(raw)
	return err
}

// AuditFilter selects rows of the audit. Fields that are empty select all.
type AuditFilter struct {
	Since, Until               time.Time
	Actor, Node, Rule, Outcome string
}

// Audit lists at most limit rows of the audit (0 = DefaultLimit), the newest first.
func (c *Client) Audit(ctx context.Context, f AuditFilter, limit int) (List[AuditEntry], error) {
	q := url.Values{}
	for name, v := range map[string]string{"actor": f.Actor, "node": f.Node, "rule": f.Rule, "outcome": f.Outcome} {
		if v != "" {
			q.Set(name, v)
		}
	}
	for name, at := range map[string]time.Time{"since": f.Since, "until": f.Until} {
		if !at.IsZero() {
			q.Set(name, at.UTC().Format(time.RFC3339Nano))
		}
	}
	return pages[AuditEntry](ctx, c, "/temper/v1/audit", q, "audit", limit)
}

// Token is a token of a service account.
type Token struct {
	document
	ID        string     `json:"id"`
	Name      string     `json:"name"`
	Role      string     `json:"role"`
	Project   string     `json:"project"`
	CreatedAt *time.Time `json:"created_at"`
	CreatedBy string     `json:"created_by"`
	ExpiresAt *time.Time `json:"expires_at"`
	UsedAt    *time.Time `json:"used_at"`
	RevokedAt *time.Time `json:"revoked_at"`
	Token     string     `json:"token"` // only of one that was just made
}

// UnmarshalJSON reads a token and keeps the answer.
func (t *Token) UnmarshalJSON(raw []byte) error {
	type plain Token
	err := jsonvalue.Unmarshal(raw, (*plain)(t))
	t.document = keep(raw)
	return err
}

const tokensPath = "/temper/v1/tokens"

// Tokens lists at most limit tokens (0 = DefaultLimit), the oldest first.
func (c *Client) Tokens(ctx context.Context, limit int) (List[Token], error) {
	return pages[Token](ctx, c, tokensPath, nil, "tokens", limit)
}

// CreateToken makes a token with these fields.
func (c *Client) CreateToken(ctx context.Context, fields map[string]any) (*Token, error) {
	var t Token
	_, err := c.do(ctx, request{method: http.MethodPost, path: tokensPath, body: fields}, &t)
	return &t, err
}

// RevokeToken revokes a token.
func (c *Client) RevokeToken(ctx context.Context, id string) error {
	_, err := c.do(ctx, request{method: http.MethodDelete, path: tokensPath + "/" + segment(id)}, nil)
	return err
}
