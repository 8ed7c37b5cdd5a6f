package ipmi

import (
	"context"

	"github.com/bougou/go-ipmi/pkg/bmc"
	"github.com/bougou/go-ipmi/pkg/hal"

	"go.temper.dev/temper/internal/sim/machine"
)

// serialConsole is the machine's serial console as the reference BMC wants it, which does Serial over LAN.
type serialConsole struct{ machine *machine.Server }

var (
	_ hal.ConsoleHAL  = serialConsole{}
	_ hal.ConsoleConn = serialConsole{}
)

func (c serialConsole) Open(context.Context) (hal.ConsoleConn, error) {
	if !c.machine.Console.Open() {
		return nil, bmc.ErrSOLAlreadyActive // it is being given back
	}
	return c, nil
}

func (c serialConsole) ReadAvailable(p []byte) (int, error) { return c.machine.Console.Read(p), nil }

func (c serialConsole) Write(p []byte) (int, error) {
	c.machine.Console.Type(p)
	return len(p), nil
}

func (c serialConsole) SendBreak(context.Context) error {
	c.machine.Console.Break()
	return nil
}

func (c serialConsole) Close() error {
	c.machine.Console.Close()
	return nil
}
