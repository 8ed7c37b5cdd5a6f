package redfish

import (
	"context"

	"go.temper.dev/temper/internal/bmc"
)

type secureBoot struct {
	Enable      loose[*bool] `json:"SecureBootEnable"`
	CurrentBoot looseString  `json:"SecureBootCurrentBoot"`
}

// readSecureBoot sets whether secure boot is enabled: in the current boot, or in the next one if the BMC tells only that.
func (in *inspection) readSecureBoot(ctx context.Context) error {
	var s secureBoot
	ok, err := tryRead(ctx, in, bmc.PartSecureBoot, string(in.sys.SecureBoot), &s)
	if !ok {
		return err
	}
	switch s.CurrentBoot {
	case "Enabled", "Disabled":
		on := s.CurrentBoot == "Enabled"
		in.inv.SecureBoot = &on
	default:
		in.inv.SecureBoot = s.Enable.v
	}
	return nil
}
