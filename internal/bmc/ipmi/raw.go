package ipmi

import (
	"context"
	"fmt"

	"github.com/bougou/go-ipmi/pkg/types"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// SendRaw sends one command to the logical unit 0. It reads the power first, as RestartBMC does.
func (s *session) SendRaw(ctx context.Context, command []byte) error {
	request, err := rawRequest(command)
	if err != nil {
		return s.wrap(bmc.NameRaw, err)
	}
	if _, err := s.power(ctx); err != nil {
		return s.wrap(bmc.NameRaw, err)
	}
	return s.wrap(bmc.NameRaw, s.sendOnce(bmc.Asking(ctx, bmc.NameRaw), request))
}

// raw is a command as somebody gave it.
type raw struct {
	command types.Command
	data    []byte
}

// maxNetFn is the highest network function of a request; answers have the odd number above it (IPMI 2.0, 5.1).
const maxNetFn = 0x3e

func rawRequest(command []byte) (raw, error) {
	switch {
	case len(command) < 2 || len(command) > node.MaxRaw:
		return raw{}, fault.New(fault.Invalid, "a raw command has %d bytes, and needs a network function, a number, and at most %d bytes of data", len(command), node.MaxRaw-2)
	case command[0] > maxNetFn || command[0]%2 == 1:
		return raw{}, fault.New(fault.Invalid, "%#02x is no network function of a command: these are even and at most %#02x", command[0], maxNetFn)
	}
	name := fmt.Sprintf("the raw command %#02x %#02x", command[0], command[1])
	return raw{types.Command{ID: command[1], NetFn: types.NetFn(command[0]), Name: name}, command[2:]}, nil
}

// Command implements types.Request.
func (r raw) Command() types.Command { return r.command }

// Pack implements types.Request.
func (r raw) Pack() []byte { return r.data }
