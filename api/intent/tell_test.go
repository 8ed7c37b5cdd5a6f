package intent

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/node"
)

// stuck is a Temporal whose starts take as long as the caller waits.
type stuck struct {
	Operations
	running, started atomic.Int32
}

func (s *stuck) Start(ctx context.Context, _ *node.Operation) error {
	s.started.Add(1)
	s.running.Add(1)
	defer s.running.Add(-1)
	<-ctx.Done()
	return ctx.Err()
}

func TestAnAPIProcessStartsOnlyAFewWorkflowsAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		temporal := &stuck{}
		s := New(Config{Operations: temporal, StartTimeout: time.Second, Log: zap.NewNop()})
		const requests = 100
		warned := make(chan string, requests)
		began := time.Now()
		for range requests {
			go func() {
				c, _ := gin.CreateTestContext(httptest.NewRecorder())
				c.Request = httptest.NewRequestWithContext(t.Context(), http.MethodPut, "/", nil)
				s.Start(c, &node.Operation{})
				warned <- c.Writer.Header().Get(HeaderWarning)
			}()
		}
		synctest.Wait()
		require.EqualValues(t, startsAtOnce, temporal.running.Load())
		for range requests {
			require.Equal(t, startsLate, <-warned)
		}
		require.LessOrEqual(t, time.Since(began), startTurn+time.Second)
		require.Less(t, temporal.started.Load(), int32(requests), "the others did not wait longer, and Temporal never heard of them")
	})
}
