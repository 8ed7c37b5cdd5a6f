package ipmi

import (
	"context"
	"time"

	"github.com/bougou/go-ipmi/pkg/types"

	"go.temper.dev/temper/internal/bmc"
)

// session is a conversation with a BMC.
type session struct {
	endpoint *endpoint
	target   bmc.Target
}

// read sends a command that changes nothing and unpacks the answer.
func (s *session) read(ctx context.Context, request types.Request, answer types.Response) error {
	data, err := s.endpoint.do(ctx, call{request: request})
	if err != nil {
		return err
	}
	if err := answer.Unpack(data); err != nil {
		return malformed(request.Command(), err)
	}
	return nil
}

// change sends a command that changes something. If sending it twice is not the same as sending
// it once, it is sent at most once.
func (s *session) change(ctx context.Context, request types.Request, once bool) error {
	asked := bmc.Request{Name: bmc.AskedFor(ctx, request.Command().Name), AnswerWithin: s.endpoint.within()}
	c := call{request: request, once: once, guard: func(ctx context.Context) (time.Time, error) {
		until, err := s.target.Permit(ctx, asked)
		asked.Again = asked.Again || err == nil
		return until, err
	}}
	if s.target.Await != nil {
		c.await = func(ctx context.Context) error { return s.target.Await(ctx, asked) }
	}
	_, err := s.endpoint.do(ctx, c)
	return err
}
