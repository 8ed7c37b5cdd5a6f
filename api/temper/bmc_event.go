package temper

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

const (
	bmcEventBody = 64 << 10 // bytes that are read of an event of a BMC
	bmcSecretLen = 43       // base64url of 32 bytes
)

// postBMCEvent answers POST /temper/v1/bmc-events/SECRET, which a BMC sends because a conductor has subscribed to its events.
// BMCs can't log in, so the secret is all that they show. What the event says is not read: the conductor that waits for it reads
// the BMC itself.
func (s *Server) postBMCEvent(c *gin.Context) (int, any, error) {
	unknown := fault.New(fault.NotFound, "Nobody waits for this event.")
	secret := c.Param("secret")
	if len(secret) != bmcSecretLen {
		return 0, nil, unknown
	}
	id := node.SubscriptionID(secret)
	if !s.bmcEvents.take(id, time.Now()) {
		return 0, nil, fault.New(fault.Busy, "BMCs send more events than this API process takes.")
	}
	if err := format.DiscardBody(c, bmcEventBody); err != nil {
		return 0, nil, err
	}
	known, err := s.Store.AnnounceBMCEvent(c.Request.Context(), id)
	switch {
	case err != nil:
		return 0, nil, err
	case !known:
		return 0, nil, unknown
	}
	s.bmcEvents.learn(id, time.Now())
	return http.StatusNoContent, nil, nil
}
