//go:build linux

package agentcmd

import (
	"errors"

	"github.com/u-root/u-root/pkg/ipmi"
)

// askBMC sends a request to the BMC of this machine, and waits at most ten seconds for the answer.
func askBMC(function, command byte, data ...byte) ([]byte, error) {
	device, err := ipmi.Open(0)
	if err != nil {
		return nil, err
	}
	answer, err := device.SendRecv(ipmi.NetFn(function), ipmi.Command(command), data)
	return answer, errors.Join(err, device.Close())
}
