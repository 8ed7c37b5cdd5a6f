package temper

import (
	"net/http/httptest"
	"strings"

	"github.com/gin-gonic/gin"
	"golang.org/x/time/rate"
)

// Explained is the answer to GET /temper/v1/nodes/X/why.
var Explained = explained

// BMCEventAboveTheRate is the error of an event of a BMC if no more are taken.
func BMCEventAboveTheRate() error {
	none := rate.NewLimiter(0, 0)
	s := &Server{bmcEvents: &bmcEventLimits{known: none, unknown: none}} // not even the database is asked
	c, _ := gin.CreateTestContext(httptest.NewRecorder())
	c.Params = gin.Params{{Key: "secret", Value: strings.Repeat("y", bmcSecretLen)}}
	_, _, err := s.postBMCEvent(c)
	return err
}
