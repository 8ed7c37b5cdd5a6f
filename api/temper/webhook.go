package temper

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/internal/events"
	"go.temper.dev/temper/internal/mask"
	"go.temper.dev/temper/internal/webhook"
)

// WebhookSender knows to which addresses webhooks may be sent.
type WebhookSender interface {
	Check(w *webhook.Webhook) error
	// Test sends a message of the type webhook.test, once. The error is why it was not taken.
	Test(ctx context.Context, w *webhook.Webhook, secret string) error
}

// shownWebhook is a webhook as answers show it: without its secret.
func shownWebhook(w *webhook.Webhook) gin.H {
	state := "ok"
	switch {
	case !w.Enabled:
		state = "disabled"
	case w.FailingSince != nil:
		state = "failing"
	}
	return gin.H{
		"name": w.Name, "url": mask.URLs(w.URL), "enabled": w.Enabled, "state": state,
		"node_uuid": format.OrNull(w.Filter.NodeUUID), "kinds": format.List(w.Filter.Kinds), "causes": format.List(w.Filter.Causes), "types": format.List(w.Filter.Types),
		"created_at": format.Timestamp(&w.CreatedAt), "created_by": format.OrNull(w.CreatedBy),
		"delivered_through": w.DeliveredThrough, "delivered_at": format.Timestamp(w.DeliveredAt), "behind_since": format.Timestamp(w.Behind),
		"failing_since": format.Timestamp(w.FailingSince), "attempts": w.Attempts, "last_error": format.OrNull(w.LastError),
		"deliveries": w.Deliveries, "failures": w.Failures, "dead_letters": w.DeadLetters,
	}
}

// listWebhooks answers GET /temper/v1/webhooks. There are few: they come in one page.
func (s *Server) listWebhooks(c *gin.Context) (int, any, error) {
	if q := format.ReadQuery(c); q.Err != nil {
		return 0, nil, q.Err
	}
	all, err := s.Store.Webhooks(c.Request.Context())
	if err != nil {
		return 0, nil, err
	}
	out := make([]gin.H, 0, len(all))
	for i := range all {
		out = append(out, shownWebhook(&all[i]))
	}
	return http.StatusOK, gin.H{"webhooks": out}, nil
}

// getWebhook answers GET /temper/v1/webhooks/NAME.
func (s *Server) getWebhook(c *gin.Context) (int, any, error) {
	if q := format.ReadQuery(c); q.Err != nil {
		return 0, nil, q.Err
	}
	return s.answerWebhook(c, http.StatusOK, c.Param("webhook"))
}

func (s *Server) answerWebhook(c *gin.Context, status int, name string) (int, any, error) {
	w, _, err := s.Store.Webhook(c.Request.Context(), name)
	if err != nil && w == nil {
		return 0, nil, err
	}
	return status, shownWebhook(w), nil
}

// createWebhook answers POST /temper/v1/webhooks.
func (s *Server) createWebhook(c *gin.Context) (int, any, error) {
	in, err := format.ReadObject(c, format.MaxBody, "name", "url", "secret", "node", "kinds", "causes", "types", "enabled")
	if err != nil {
		return 0, nil, err
	}
	in.Require("name")
	in.Require("url")
	in.Require("secret")
	w := &webhook.Webhook{Name: in.Text("name"), URL: in.Text("url"), Enabled: true, CreatedBy: httpd.By(c)}
	secret, node := in.Text("secret"), in.Text("node")
	w.Filter.Kinds, w.Filter.Causes, w.Filter.Types = texts(in, "kinds"), texts(in, "causes"), texts(in, "types")
	if enabled := in.Boolean("enabled"); enabled != nil {
		w.Enabled = *enabled
	}
	if wrong := wrongInFilter(w.Filter); wrong != "" {
		in.Fail("%s", wrong)
	}
	if in.Err != nil {
		return 0, nil, in.Err
	}
	if err := s.Webhooks.Check(w); err != nil {
		return 0, nil, err
	}
	if err := webhook.CheckSecret(secret); err != nil {
		return 0, nil, err
	}
	if w.Filter.NodeUUID, err = s.filteredNode(c, node); err != nil {
		return 0, nil, err
	}
	if err := s.Store.CreateWebhook(c.Request.Context(), w, secret); err != nil {
		return 0, nil, err
	}
	httpd.Logger(c).Info("webhook created", zap.String("webhook", w.Name), zap.String("user", httpd.By(c)))
	return s.answerWebhook(c, http.StatusCreated, w.Name)
}

// maxWords bounds the values of one field of a filter.
const maxWords = 100

func texts(in *format.Object, name string) (out []string) {
	list := in.List(name)
	if len(list) > maxWords {
		in.Fail("%s has more than %d values", name, maxWords)
		return nil
	}
	for _, v := range list {
		word, ok := v.(string)
		if !ok || word == "" {
			in.Fail("Expected words for %s", name)
			return nil
		}
		if !slices.Contains(out, word) {
			out = append(out, word)
		}
	}
	return out
}

// patchWebhook answers PATCH /temper/v1/webhooks/NAME: the fields that it names are changed. A webhook that is enabled goes on where it
// was.
func (s *Server) patchWebhook(c *gin.Context) (int, any, error) {
	in, err := format.ReadObject(c, format.MaxBody, "enabled", "url", "secret", "node", "kinds", "causes", "types")
	if err != nil {
		return 0, nil, err
	}
	if len(in.Fields) == 0 {
		in.Fail("Expected at least one field to change")
	}
	enabled, secret, url := in.Boolean("enabled"), in.Text("secret"), in.Text("url")
	filter := events.Filter{Kinds: texts(in, "kinds"), Causes: texts(in, "causes"), Types: texts(in, "types")}
	if wrong := wrongInFilter(filter); wrong != "" {
		in.Fail("%s", wrong)
	}
	if in.Err != nil {
		return 0, nil, in.Err
	}
	if in.Has("secret") {
		if err := webhook.CheckSecret(secret); err != nil {
			return 0, nil, err
		}
	}
	if filter.NodeUUID, err = s.filteredNode(c, in.Text("node")); err != nil {
		return 0, nil, err
	}
	name := c.Param("webhook")
	err = s.Store.ChangeWebhook(c.Request.Context(), name, func(w *webhook.Webhook) (string, error) {
		if enabled != nil {
			w.Enabled = *enabled
		}
		for field, list := range map[string]struct{ to, from *[]string }{
			"kinds": {&w.Filter.Kinds, &filter.Kinds}, "causes": {&w.Filter.Causes, &filter.Causes}, "types": {&w.Filter.Types, &filter.Types},
		} {
			if in.Has(field) {
				*list.to = *list.from
			}
		}
		if in.Has("node") {
			w.Filter.NodeUUID = filter.NodeUUID
		}
		if in.Has("url") {
			w.URL = url
			return secret, s.Webhooks.Check(w)
		}
		return secret, nil
	})
	if err != nil {
		return 0, nil, err
	}
	httpd.Logger(c).Info("webhook changed", zap.String("webhook", name), zap.Strings("fields", slices.Sorted(maps.Keys(in.Fields))), zap.String("user", httpd.By(c)))
	return s.answerWebhook(c, http.StatusOK, name)
}

// deleteWebhook answers DELETE /temper/v1/webhooks/NAME.
func (s *Server) deleteWebhook(c *gin.Context) (int, any, error) {
	if err := s.Store.DeleteWebhook(c.Request.Context(), c.Param("webhook")); err != nil {
		return 0, nil, err
	}
	httpd.Logger(c).Info("webhook deleted", zap.String("webhook", c.Param("webhook")), zap.String("user", httpd.By(c)))
	return http.StatusNoContent, nil, nil
}

// testWebhook answers POST /temper/v1/webhooks/NAME/test: this process sends one message and says what came of it.
func (s *Server) testWebhook(c *gin.Context) (int, any, error) {
	if _, err := format.ReadObject(c, format.MaxBody); err != nil {
		return 0, nil, err
	}
	w, secret, err := s.Store.Webhook(c.Request.Context(), c.Param("webhook"))
	if err != nil {
		return 0, nil, err
	}
	failure := ""
	if err := s.Webhooks.Test(c.Request.Context(), w, secret); err != nil {
		failure = mask.URLs(err.Error())
	}
	return http.StatusOK, gin.H{"delivered": failure == "", "error": format.OrNull(failure)}, nil
}

// listDeadLetters answers GET /temper/v1/webhooks/NAME/dead-letters, oldest first.
func (s *Server) listDeadLetters(c *gin.Context) (int, any, error) {
	q := format.ReadQuery(c, "limit", "marker")
	p, after := q.PageByID(s.MaxLimit, "the number of an event")
	if q.Err != nil {
		return 0, nil, q.Err
	}
	name := c.Param("webhook")
	letters, err := s.Store.DeadLetters(c.Request.Context(), name, after, p.Limit)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, format.Collection[webhook.DeadLetter]{
		Name: "dead_letters", Path: "/temper/v1/webhooks/" + name + "/dead-letters", Marker: func(d *webhook.DeadLetter) string { return strconv.FormatInt(d.Seq, 10) },
		Show: func(d *webhook.DeadLetter) any {
			return gin.H{
				"event": d.Seq, "webhook_id": d.MessageID, "type": d.Type, "at": format.Timestamp(&d.At), "given_up_at": format.Timestamp(&d.GivenUpAt),
				"error": d.Error, "redelivering": d.Redeliver, "body": d.Body,
			}
		},
	}.Body(q, p, letters), nil
}

// redeliverWebhook answers POST /temper/v1/webhooks/NAME/redeliver: a dead letter, or all of them, are sent once more.
func (s *Server) redeliverWebhook(c *gin.Context) (int, any, error) {
	in, err := format.ReadObject(c, format.MaxBody, "event")
	if err != nil {
		return 0, nil, err
	}
	seq := int64(0)
	if n := in.Integer("event"); n != nil {
		if seq = *n; seq <= 0 {
			in.Fail("event must be the number of an event")
		}
	}
	if in.Err != nil {
		return 0, nil, in.Err
	}
	n, err := s.Store.RedeliverEvents(c.Request.Context(), c.Param("webhook"), seq)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusAccepted, gin.H{"redelivering": n}, nil
}
