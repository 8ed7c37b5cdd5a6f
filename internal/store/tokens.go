package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/audit"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/tokens"
)

const (
	tokenColumns = `t.id, t.name, t.role, t.project, t.created_at, t.created_by, t.expires_at, t.used_at, t.revoked_at, t.revoked_by`

	knownTokenSQL = `
SELECT ` + tokenColumns + `, t.hash, t.revoked_at IS NOT NULL OR coalesce(t.expires_at <= clock_timestamp(), false),
	coalesce(ceil(extract(epoch FROM t.expires_at - clock_timestamp()) * 1000000)::bigint, -1),
	t.used_at IS NULL OR t.used_at < date_trunc('hour', clock_timestamp())
  FROM tokens t WHERE t.id = @id`

	tokenUsedSQL = `
UPDATE tokens SET used_at = date_trunc('hour', clock_timestamp()) WHERE id = @id AND (used_at IS NULL OR used_at < date_trunc('hour', clock_timestamp()))`

	tokensSQL = `
SELECT ` + tokenColumns + ` FROM tokens t
 WHERE @marker::text = '' OR (t.created_at, t.id) > (SELECT m.created_at, m.id FROM tokens m WHERE m.id = @marker)
 ORDER BY t.created_at, t.id LIMIT @limit`

	createTokenSQL = `
INSERT INTO tokens AS t (id, hash, name, role, project, created_by, expires_at)
SELECT @id, @hash, @name, @role, @project, @by, clock_timestamp() + nullif(@for::bigint, 0) * interval '1 microsecond'
 WHERE (SELECT count(*) FROM tokens o) < @most
RETURNING ` + tokenColumns

	// A token that was revoked before keeps when and by whom.
	revokeTokenSQL = `
UPDATE tokens SET revoked_at = coalesce(revoked_at, clock_timestamp()), revoked_by = CASE WHEN revoked_at IS NULL THEN @by ELSE revoked_by END
 WHERE id = @id RETURNING id`

	forgetTokensSQL = `
DELETE FROM tokens t WHERE t.id IN (
	SELECT o.id FROM tokens o WHERE coalesce(o.revoked_at, o.expires_at) < clock_timestamp() - @age * interval '1 microsecond' LIMIT 1000)`

	// maxTokens bounds the table.
	maxTokens = 10_000
)

func scanToken(r pgx.Row, more ...any) (t tokens.Token, err error) {
	return t, r.Scan(append([]any{
		&t.ID, &t.Name, &t.Grant.Role, &t.Grant.Project, &t.CreatedAt, &t.CreatedBy, &t.ExpiresAt, &t.UsedAt, &t.RevokedAt, &t.RevokedBy,
	}, more...)...)
}

// KnownToken is of tokens.Store.
func (s *Store) KnownToken(ctx context.Context, id string) (*tokens.Known, error) {
	var k tokens.Known
	var left int64
	found, err := s.one(ctx, "look up a token", knownTokenSQL, args{"id": id}, func(r pgx.Row) (err error) {
		k.Token, err = scanToken(r, &k.Hash, &k.Ended, &left, &k.Unused)
		return err
	})
	if err != nil || !found {
		return nil, err
	}
	if k.Left = time.Duration(left) * time.Microsecond; left < 0 {
		k.Left = -1
	}
	return &k, nil
}

// TokenUsed is of tokens.Store.
func (s *Store) TokenUsed(ctx context.Context, id string) error {
	_, err := s.exec(ctx, "note the use of a token", tokenUsedSQL, args{"id": id})
	return err
}

// Tokens is a page of the tokens, also of those that have ended, the oldest first. marker is the public id of the last one before.
func (s *Store) Tokens(ctx context.Context, marker string, limit int) ([]tokens.Token, error) {
	return list(ctx, s, "list tokens", tokensSQL, args{"marker": marker, "limit": pageLimit(limit)}, func(r pgx.Row) (tokens.Token, error) { return scanToken(r) })
}

// CreateToken keeps a token that expires after some time, 0 = never. It fills in its times.
func (s *Store) CreateToken(ctx context.Context, t *tokens.Token, hash []byte, expires time.Duration) error {
	audit.Of(ctx).On("token", t.ID)
	a := args{
		"id": t.ID, "hash": hash, "name": words(t.Name, 255), "role": t.Grant.Role, "project": words(t.Grant.Project, 255), "by": words(t.CreatedBy, 255),
		"for": micros(expires), "most": maxTokens,
	}
	found, err := s.changeOne(ctx, "create a token", createTokenSQL, a, func(r pgx.Row) (err error) {
		*t, err = scanToken(r)
		return err
	})
	if err == nil && !found {
		err = fault.New(fault.Conflict, "There are %d tokens, and there can't be more.", maxTokens)
	}
	return err
}

// RevokeToken ends a token. One that was revoked before stays as it is.
func (s *Store) RevokeToken(ctx context.Context, id, by string) error {
	found, err := s.changeOne(ctx, "revoke a token", revokeTokenSQL, args{"id": id, "by": words(by, 255)}, func(r pgx.Row) error { return r.Scan(nil) })
	if err == nil && !found {
		err = fault.New(fault.NotFound, "Token %s could not be found.", words(id, 64))
	}
	return err
}

// ForgetTokens deletes tokens that were revoked, or have expired, longer ago than age.
func (s *Store) ForgetTokens(ctx context.Context, age time.Duration) error {
	_, err := s.exec(ctx, "forget tokens", forgetTokensSQL, args{"age": micros(age)})
	return err
}
