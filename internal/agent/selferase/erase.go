package selferase

import (
	"context"
	"time"
)

// The methods by which a disk was erased.
const (
	FormatCrypto   = "erased by NVMe format with a new key"
	FormatUser     = "erased by NVMe format"
	SanitizeCrypto = "erased by NVMe sanitize with a new key"
	SanitizeBlock  = "erased by NVMe sanitize"
	ATAEnhanced    = "erased by ATA enhanced secure erase"
	ATANormal      = "erased by ATA secure erase"
)

// Allowed says which commands may be used, as Ironic's settings enable_ata_secure_erase and enable_nvme_secure_erase do.
type Allowed struct {
	ATA, NVMe bool
	Before    func() // called right before a command that erases; nil = nothing is
}

func (a Allowed) before() {
	if a.Before != nil {
		a.Before()
	}
}

const (
	shortly = 30 * time.Second // for a command that moves at most a block of data
	pause   = time.Second      // between two looks at a sanitize
	// longest is for an erasure whose end the disk can't tell, as hdparm's and nvme-cli's users wait.
	longest = 12 * time.Hour
)

// Erase has the disk erase itself, and returns by which method. It may be called again after a crash: a sanitize under way is waited for, and
// a password that an earlier try has set is taken off.
func Erase(ctx context.Context, d Device, may Allowed) (method string, err error) {
	switch kind := d.Kind(); {
	case kind == KindNVMe && may.NVMe:
		return eraseNVMe(ctx, d, may)
	case kind == KindATA && may.ATA:
		return eraseATA(d, may)
	}
	return "", ErrNoCommand
}
