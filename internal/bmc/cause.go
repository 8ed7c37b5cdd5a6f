package bmc

import "go.temper.dev/temper/internal/fault"

// causes are the causes of failed conversations with a BMC, by the kind of the error.
var causes = map[fault.Kind]fault.Code{
	fault.Unreachable: fault.BMCSilent,
	fault.Busy:        fault.BMCBusy,
	fault.Refused:     fault.BMCRefuses,
	fault.Denied:      fault.BMCWrongPassword,
	fault.Untrusted:   fault.BMCNotTrusted,
	fault.Invalid:     fault.BMCSettingsInvalid,
}

// CauseOf returns the code that a driver gives to the error of a request to a BMC: the error's own,
// or the one for its kind.
func CauseOf(err error) fault.Code {
	kind, code := fault.KindOf(err), fault.CodeOf(err)
	if cause, known := causes[kind]; known && code == kind.Code() {
		return cause
	}
	return code
}
