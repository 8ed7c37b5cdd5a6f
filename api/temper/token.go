package temper

import (
	"net/http"
	"slices"
	"time"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/internal/access"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/tokens"
)

// maxTokenLife bounds expires_in: ten years.
const maxTokenLife = 10 * 365 * 24 * time.Hour

// listTokens answers GET /temper/v1/tokens: the tokens of service accounts, without what their holders keep.
func (s *Server) listTokens(c *gin.Context) (int, any, error) {
	q := format.ReadQuery(c, "limit", "marker")
	p := q.Page(s.MaxLimit, format.Unsortable)
	if p.Marker != "" && !tokens.ValidID(p.Marker) {
		q.Fail("The marker is the id of a token")
	}
	if q.Err != nil {
		return 0, nil, q.Err
	}
	all, err := s.Store.Tokens(c.Request.Context(), p.Marker, p.Limit)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, format.Collection[tokens.Token]{
		Name: "tokens", Path: "/temper/v1/tokens", Marker: func(t *tokens.Token) string { return t.ID },
		Show: func(t *tokens.Token) any { return showToken(t) },
	}.Body(q, p, all), nil
}

func showToken(t *tokens.Token) gin.H {
	return gin.H{
		"id": t.ID, "name": t.Name, "role": t.Grant.Role, "project": format.OrNull(t.Grant.Project), "created_at": format.Timestamp(&t.CreatedAt),
		"created_by": t.CreatedBy, "expires_at": format.Timestamp(t.ExpiresAt), "used_at": format.Timestamp(t.UsedAt),
		"revoked_at": format.Timestamp(t.RevokedAt), "revoked_by": format.OrNull(t.RevokedBy),
	}
}

// createToken answers POST /temper/v1/tokens. Only this answer has the token.
func (s *Server) createToken(c *gin.Context) (int, any, error) {
	in, err := format.ReadObject(c, format.MaxBody, "name", "role", "project", "expires_in")
	if err != nil {
		return 0, nil, err
	}
	in.Require("name")
	in.Require("role")
	t := &tokens.Token{Name: in.Text("name"), Grant: access.Grant{Role: access.Role(in.Text("role")), Project: in.Text("project")}, CreatedBy: httpd.By(c)}
	if in.Err == nil && !tokens.ValidName(t.Name) {
		in.Fail("A service account can not be called '%s': at most 100 letters, digits, dots, dashes, underscores and @", format.Clip(t.Name))
	}
	if in.Err == nil && !slices.Contains(access.Roles(), t.Grant.Role) {
		in.Fail("Role '%s' is not valid, it is one of %v", format.Clip(string(t.Grant.Role)), access.Roles())
	}
	if len(t.Grant.Project) > 255 {
		in.Fail("The project has more than 255 bytes")
	}
	var life time.Duration
	if seconds := in.Integer("expires_in"); seconds != nil {
		if *seconds < 1 || *seconds > int64(maxTokenLife/time.Second) {
			in.Fail("expires_in must be a number of seconds from 1 to %d", int64(maxTokenLife/time.Second))
		} else {
			life = time.Duration(*seconds) * time.Second
		}
	}
	if in.Err != nil {
		return 0, nil, in.Err
	}
	if !access.Covers(httpd.IdentityOf(c), []access.Grant{t.Grant}) {
		return 0, nil, fault.Coded(fault.ForbiddenRequest, "A token can't give more than its maker has: you do not have the role %s there.", t.Grant.Role)
	}
	var text string
	var hash []byte
	text, t.ID, hash = tokens.New()
	if err := s.Store.CreateToken(c.Request.Context(), t, hash, life); err != nil {
		return 0, nil, err
	}
	httpd.Logger(c).Info("token created", zap.String("token", t.ID), zap.String("name", t.Name), zap.String("role", string(t.Grant.Role)), zap.String("user", httpd.By(c)))
	c.Header("Cache-Control", "no-store")
	body := showToken(t)
	body["token"] = text
	return http.StatusCreated, body, nil
}

// revokeToken answers DELETE /temper/v1/tokens/ID.
func (s *Server) revokeToken(c *gin.Context) (int, any, error) {
	id := c.Param("token")
	if !tokens.ValidID(id) {
		return 0, nil, fault.New(fault.NotFound, "Token %s could not be found.", format.Clip(id))
	}
	if err := s.Store.RevokeToken(c.Request.Context(), id, httpd.By(c)); err != nil {
		return 0, nil, err
	}
	httpd.Logger(c).Info("token revoked", zap.String("token", id), zap.String("user", httpd.By(c)))
	return http.StatusNoContent, nil, nil
}
