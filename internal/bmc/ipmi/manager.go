package ipmi

import (
	"context"
	"math"
	"time"

	"github.com/bougou/go-ipmi/pkg/command/app"
	"github.com/bougou/go-ipmi/pkg/command/chassis"
	"github.com/bougou/go-ipmi/pkg/types"

	"go.temper.dev/temper/internal/bmc"
)

// Identify sends one Chassis Identify, which can do at most 255 seconds or forever.
func (s *session) Identify(ctx context.Context, d time.Duration) error {
	request := &chassis.ChassisIdentifyRequest{ForceIdentifyOn: d == bmc.IdentifyForever}
	if !request.ForceIdentifyOn {
		seconds := min(math.Ceil(max(d, 0).Seconds()), math.MaxUint8)
		request.IdentifyInterval = uint8(seconds)
	}
	return s.wrap("identify", s.change(bmc.Asking(ctx, "identify"), request, false))
}

// RestartBMC sends one Cold Reset or Warm Reset. It reads the power first, so that the session is known to work.
func (s *session) RestartBMC(ctx context.Context, warm bool) error {
	if _, err := s.power(ctx); err != nil {
		return s.wrap(bmc.NameBMC, err)
	}
	var request types.Request = &app.ColdResetRequest{}
	if warm {
		request = &app.WarmResetRequest{}
	}
	return s.wrap(bmc.NameBMC, s.sendOnce(bmc.Asking(ctx, bmc.NameBMC), request))
}
