package ipmi

import (
	"context"

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
	guard := s.target.Guard
	if guard == nil {
		guard = func(context.Context) error { return nil }
	}
	_, err := s.endpoint.do(ctx, call{request: request, guard: guard, once: once})
	return err
}
