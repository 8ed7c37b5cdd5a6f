package temper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/internal/access"
	"go.temper.dev/temper/internal/events"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// keepAlive is how often a stream without events says that it lives. Proxies cut off connections that are silent, often after
// a minute.
const keepAlive = 15 * time.Second

// lastEventID is the header with which a client resumes a stream (WHATWG HTML, server-sent events).
const lastEventID = "Last-Event-ID"

// streamEvents answers GET /temper/v1/events until the client goes away.
func (s *Server) streamEvents(c *gin.Context, out *httpd.Stream) error {
	filter, err := s.eventFilter(c)
	if err != nil {
		return err
	}
	after, err := resumeAfter(c)
	if err != nil {
		return err
	}
	ctx := c.Request.Context()
	stream, err := s.Events.Open(ctx, httpd.User(c), filter, after)
	if err != nil {
		return err
	}
	defer stream.Close()
	c.Header("Content-Type", "text/event-stream")
	c.Header("Cache-Control", "no-store")
	c.Header("X-Accel-Buffering", "no") // nginx would keep events back
	told := stream.At()
	blocks := fmt.Appendf(nil, "retry: 1000\nid: %d\n\n", told)
	for {
		if err := out.Send(blocks); err != nil {
			return err
		}
		if blocks, err = nextBlocks(ctx, stream); err != nil {
			return err
		}
		if len(blocks) == 0 {
			blocks = []byte(": nothing new\n\n")
			if stream.At() != told { // a client that wants little resumes here all the same
				blocks = fmt.Appendf(blocks, "id: %d\n\n", stream.At())
			}
		}
		told = stream.At()
	}
}

// nextBlocks returns the next events, or nothing if there were none for a while.
func nextBlocks(ctx context.Context, stream *events.Stream) ([]byte, error) {
	wait, cancel := context.WithTimeout(ctx, keepAlive)
	defer cancel()
	blocks, err := stream.Next(wait)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil, nil
	}
	return blocks, err
}

// resumeAfter is the number of the last event that the client has had; nil = it has had none.
func resumeAfter(c *gin.Context) (*int64, error) {
	given := c.GetHeader(lastEventID)
	if given == "" {
		return nil, nil
	}
	n, err := strconv.ParseInt(given, 10, 64)
	if err != nil || n < 0 {
		return nil, fault.New(fault.Invalid, "%s is %s: it must be the id of an event, or 0 for all that are kept.", lastEventID, format.Clip(given))
	}
	if n == 0 {
		n = events.FromOldest
	}
	return &n, nil
}

// eventFilter reads the parameters. A name of a node stands for the node that has it now.
func (s *Server) eventFilter(c *gin.Context) (f events.Filter, err error) {
	q := format.ReadQuery(c, "node", "kind", "operation", "cause", "type")
	ident := q.Node("node")
	f.Kinds, f.Causes, f.Types = words(q, "kind"), words(q, "cause"), words(q, "type")
	if wrong := wrongInFilter(f); wrong != "" {
		q.Fail("%s", wrong)
	}
	for _, id := range words(q, "operation") {
		n, err := strconv.ParseInt(id, 10, 64)
		if err != nil {
			q.Fail("Expected the id of an operation but received %s.", format.Clip(id))
		}
		f.Operations = append(f.Operations, n)
	}
	if q.Err != nil {
		return f, q.Err
	}
	f.Only = httpd.View(c, access.EventList)
	f.NodeUUID, err = s.filteredNode(c, ident)
	return f, err
}

// wrongInFilter says which kind, cause or type does not exist; "" = all do.
func wrongInFilter(f events.Filter) string {
	for _, k := range f.Kinds {
		if !slices.Contains(node.Kinds(), node.OperationKind(k)) {
			return fmt.Sprintf("There is no kind of operation %s.", format.Clip(k))
		}
	}
	for _, c := range f.Causes {
		if !slices.Contains(fault.Causes(), fault.Code(c)) {
			return fmt.Sprintf("There is no cause %s.", format.Clip(c))
		}
	}
	for _, t := range f.Types {
		if !events.IsType(t) {
			return fmt.Sprintf("There is no event of the type %s.", format.Clip(t))
		}
	}
	return ""
}

// filteredNode is the uuid of a node that a filter names. A uuid may be that of a node that was deleted, or that is not there yet.
func (s *Server) filteredNode(c *gin.Context, ident string) (string, error) {
	if ident == "" || node.IsUUID(ident) {
		return ident, nil
	}
	n, err := s.Visible(c, ident)
	if err != nil {
		return "", err
	}
	return n.UUID, nil
}

// words is a parameter with several values, which commas separate.
func words(q *format.Query, name string) (list []string) {
	for _, w := range strings.Split(q.Word(name), ",") {
		if w = strings.TrimSpace(w); w != "" {
			list = append(list, w)
		}
	}
	return list
}
