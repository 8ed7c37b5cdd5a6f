package oidclogin

import (
	"encoding/base64"
	"errors"
	"net/http"
	"strings"

	"go.uber.org/zap"
	"golang.org/x/time/rate"

	"go.temper.dev/temper/internal/access"
	"go.temper.dev/temper/internal/jsonvalue"
)

const (
	// maxToken bounds the length of a bearer token.
	maxToken = 16 << 10
	// Refused tokens are logged at this rate (lines a second) and burst, because clients must not be able to fill the log.
	logRate  = 1
	logBurst = 20
)

const challenge = `Bearer realm="Baremetal API"`

// bearer authenticates requests with a JWT of the issuer.
type bearer struct {
	issuer *Issuer
	logs   *rate.Limiter
}

// Bearer returns the authenticator of requests with the header "Authorization: Bearer JWT".
//
// A token is accepted until it expires. The issuer is not asked about a single token (introspection), so it can't take one back
// before: it has to give out tokens that live for minutes. A key that the issuer withdraws is not accepted after five minutes.
//
// A token that is no JWT, or that another issuer has made, is left to other authenticators.
func (i *Issuer) Bearer() access.Authenticator {
	return &bearer{i, rate.NewLimiter(logRate, logBurst)}
}

func (b *bearer) Challenge() string { return challenge }

func (b *bearer) Authenticate(r *http.Request) (*access.Identity, *access.Refusal) {
	scheme, raw, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if raw = strings.TrimSpace(raw); !strings.EqualFold(scheme, "Bearer") || issuerOf(raw) != b.issuer.URL {
		return nil, nil
	}
	id, err := b.check(r, raw)
	if err == nil {
		return id, nil
	}
	var wrong *invalid
	if !errors.As(err, &wrong) {
		return nil, away()
	}
	if b.logs.AllowN(b.issuer.Now(), 1) {
		b.issuer.Log.Info("a bearer token was refused", zap.String("why", wrong.why), zap.String("source", r.RemoteAddr))
	}
	return nil, &access.Refusal{
		Status: http.StatusUnauthorized, Message: "The token is not accepted: " + wrong.why, Challenge: challenge + `, error="invalid_token"`,
	}
}

func (b *bearer) check(r *http.Request, raw string) (*access.Identity, error) {
	t, err := b.issuer.verify(r.Context(), raw, b.issuer.Audiences)
	if err != nil {
		return nil, err
	}
	return b.issuer.identity(t.claims, t.expires)
}

// issuerOf returns what a token says of its issuer, without checking it; "" if it is no JWT.
func issuerOf(raw string) string {
	parts := strings.Split(raw, ".")
	if len(raw) > maxToken || len(parts) != 3 {
		return ""
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return ""
	}
	var claims struct {
		Issuer string `json:"iss"`
	}
	if jsonvalue.Unmarshal(payload, &claims) != nil {
		return ""
	}
	return claims.Issuer
}
