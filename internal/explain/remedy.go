package explain

import (
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// remedies are what mends the cause of a failure, where a command can. It comes before the retry.
var remedies = map[fault.Code][]Do{
	fault.BMCWrongPassword:   {SetPassword},
	fault.CredentialsDenied:  {SetPassword},
	fault.BMCWrongAddress:    {SetAddress},
	fault.BMCNotTrusted:      {TrustBMC},
	fault.BMCSettingsInvalid: {ValidateNode},
	fault.ValidationFailed:   {ValidateNode},

	fault.ImageDigestDiffers: {SetDigest},
	fault.ImageUnreachable:   {SetImage},
	fault.ImageServerSlow:    {SetImage},
	fault.ImageNotTrusted:    {SetImage},
	fault.ImageInvalid:       {SetImage},
	fault.DiskTooSmall:       {SetOtherImage, SetRootDevice},
	fault.ImageFormatWrong:   {SetFormat},
	fault.NoDiskFits:         {SetRootDevice},

	fault.NoConductor:    {ListConductors},
	fault.ConductorsDied: {ListConductors},
}

// canMend adds what mends the cause of o, which holds or has ended.
func (e *Explanation) canMend(o *node.Operation) {
	for _, do := range remedies[o.Cause] {
		e.can(Action{Do: do})
	}
}
