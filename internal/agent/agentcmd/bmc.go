//go:build linux

package agentcmd

import (
	"github.com/u-root/u-root/pkg/ipmi"
)

// askBMC sends a request to the BMC of this machine, and waits at most ten seconds for the answer.
func askBMC(function, command byte, data ...byte) ([]byte, error) {
	device, err := ipmi.Open(0)
	if err != nil {
		return nil, err
	}
	defer device.Close()
	return device.SendRecv(ipmi.NetFn(function), ipmi.Command(command), data)
}
