package api

import (
	"context"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"
)

// getHealth answers GET /temper/v1/healthz: the process serves.
func (s *Server) getHealth(*gin.Context) (int, any, error) {
	return http.StatusOK, gin.H{"status": "ok"}, nil
}

// readyTimeout bounds what /readyz waits for its dependencies.
const readyTimeout = 3 * time.Second

// getReady answers GET /temper/v1/readyz: what requests need answers, too. The
// reason is in the log: it may hold addresses, and the path is open.
func (s *Server) getReady(c *gin.Context) (int, any, error) {
	ctx, cancel := context.WithTimeout(c.Request.Context(), readyTimeout)
	defer cancel()
	if err := s.Ready(ctx); err != nil {
		s.logger(c).Warn("not ready", zap.Error(err))
		return http.StatusServiceUnavailable, gin.H{"status": "not ready"}, nil
	}
	return http.StatusOK, gin.H{"status": "ready"}, nil
}
