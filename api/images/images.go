// Package images serves the images that agents write to disks, from a cache near the servers.
package images

import (
	"context"
	"crypto/subtle"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
	"go.uber.org/zap"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/image"
	"go.temper.dev/temper/internal/imagecache"
	"go.temper.dev/temper/internal/mask"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/secret"
)

// Store has the nodes to whose agents images are served.
type Store interface {
	Node(ctx context.Context, ident string) (*node.Node, error)
	// Credentials returns the node's secrets by name.
	Credentials(ctx context.Context, n *node.Node) (node.Secrets, error)
	// AgentToken returns the token of the node's agent; fault.NotFound where it has none.
	AgentToken(ctx context.Context, nodeUUID string) (string, error)
}

// Server serves images. It is safe for concurrent use.
type Server struct {
	store  Store
	cache  *imagecache.Cache // nil = it has none
	policy image.Policy
}

// New makes a Server. c may be nil: then there are no images.
func New(s Store, c *imagecache.Cache, p image.Policy) *Server { return &Server{s, c, p} }

// Routes are the routes of images. They are open: a path has a key that only the agent and the conductor of an operation know.
func (s *Server) Routes() []httpd.Route {
	const path = image.PathPrefix + ":secret/:node/:name" // the log leaves out the parameter secret
	const of = httpd.Agents | httpd.BMCs                  // not of agents alone: conductors ask, too, and may be in none of agent_networks
	return []httpd.Route{httpd.Get(path, 0, s.get).Open().For(of), httpd.Head(path, 0, s.get).Open().For(of)}
}

// answerWithin is how long a request waits for an image that is being fetched. The conductor asks again; it tells agents of an image only
// when it is there.
const answerWithin = 5 * time.Second

// get answers GET and HEAD of the image of a node that an operation holds.
func (s *Server) get(c *gin.Context) (int, any, error) {
	if s.cache == nil {
		return httpd.NotFound(c)
	}
	info, err := s.wanted(c.Request.Context(), c.Param("node"), c.Param("secret"))
	if fault.Is(err, fault.NotFound) {
		httpd.Logger(c).Info("image refused", zap.String("from", c.RemoteIP()), zap.Error(err))
		return httpd.NotFound(c)
	}
	if err != nil {
		return 0, nil, err
	}
	ctx, cancel := context.WithTimeout(c.Request.Context(), answerWithin)
	defer cancel()
	content, err := s.cache.Image(ctx, info)
	if err != nil {
		return refusal(c, err)
	}
	c.Header(image.Digest(content.SHA256))
	return http.StatusOK, httpd.File{
		Content: content, ContentType: "application/octet-stream", ETag: `"` + content.SHA256 + `"`, Sent: func(int64) {},
	}, nil
}

// refusal answers that an image is not there yet, or can't be had. To whoever asks Temper is a gateway, and gets the words: why an image
// that a user has named can't be fetched is no secret of Temper.
func refusal(c *gin.Context, err error) (int, any, error) {
	if fault.Is(err, fault.Internal) {
		return 0, nil, err
	}
	status := http.StatusBadGateway
	if fault.Is(err, fault.Unavailable) {
		status = http.StatusServiceUnavailable
		c.Header("Retry-After", "2")
	}
	return status, format.ErrorBody("Server", err.Error(), fault.CodeOf(err), nil), nil
}

// wanted returns the image of the node with a uuid. The error is fault.NotFound if the key is not that of its agent, or no operation
// holds it.
func (s *Server) wanted(ctx context.Context, ident, key string) (image.Info, error) {
	if _, err := uuid.Parse(ident); err != nil {
		return image.Info{}, fault.New(fault.NotFound, "no uuid of a node")
	}
	token, err := s.store.AgentToken(ctx, ident)
	if err != nil {
		return image.Info{}, err
	}
	if subtle.ConstantTimeCompare([]byte(image.ServedKey(token)), []byte(key)) != 1 {
		return image.Info{}, fault.New(fault.NotFound, "the key is not that of the agent of node %s", ident)
	}
	n, err := s.store.Node(ctx, ident)
	if err != nil {
		return image.Info{}, err
	}
	if n.Operation == nil {
		return image.Info{}, fault.New(fault.NotFound, "no operation holds node %s", ident)
	}
	sealed, err := s.store.Credentials(ctx, n)
	if err != nil {
		return image.Info{}, err
	}
	info, err := image.Parse(n.UUID, secret.InstanceInfo(n, sealed), secret.DriverInfo(n, sealed), s.policy)
	if err != nil {
		return image.Info{}, fault.CodedAs(fault.KindOf(err), fault.CodeOf(err), "%s", mask.URLs(err.Error()))
	}
	return info, nil
}
