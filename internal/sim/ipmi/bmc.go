package ipmi

import (
	"context"
	"time"

	"github.com/bougou/go-ipmi/pkg/handlers"
	"github.com/bougou/go-ipmi/pkg/types"

	"go.temper.dev/temper/internal/sim/faults"
)

func registerBMC(r *handlers.Registry) {
	restart := func(hw *hardware, _ []byte) ([]byte, types.CompletionCode) {
		// The answer must leave before the BMC is away.
		time.AfterFunc(time.Millisecond, hw.machine.RestartBMC)
		return nil, types.CodeOK
	}
	register(r, types.CommandColdReset, restart)
	register(r, types.CommandWarmReset, restart)
}

// strike delays each command, and makes it or its answer disappear where a fault names it.
func (s *Service) strike(next handlers.Handler) handlers.Handler {
	return handlers.HandlerFunc(func(ctx context.Context, hctx *handlers.HandlerContext, request []byte) ([]byte, types.CompletionCode, error) {
		time.Sleep(s.conf.Latency)
		hw := hardwareOf(hctx)
		if hctx.Session == nil {
			return next.Handle(ctx, hctx, request)
		}
		hw.wire.know(hctx.Session.BMCID)
		if hctx.Command.Key() == types.CommandActivatePayload.Key() {
			if _, taken := hw.machine.Faults.Trigger(faults.ConsoleInUse, faults.Event{}); taken {
				return nil, types.CodeActivatePayloadAlreadyActive, nil
			}
		}
		e := faults.Event{Commands: []string{hctx.Command.Name}, Named: true, When: faults.Before}
		if _, lost := hw.machine.Faults.Trigger(faults.LostPacket, e); lost {
			hw.wire.mute(hctx.Session.ConsoleID)
			return nil, types.CodeOK, nil
		}
		e.When = faults.After
		if _, lost := hw.machine.Faults.Trigger(faults.LostPacket, e); lost {
			hw.wire.mute(hctx.Session.ConsoleID)
		}
		return next.Handle(ctx, hctx, request)
	})
}
