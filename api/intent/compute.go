package intent

import (
	"regexp"
)

// HeaderCompute names the compute service that claims a node.
const HeaderCompute = "Temper-Compute-Service"

// ComputeHost is the form of a compute service's name, which is that of a conductor's.
var ComputeHost = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,253}$`)
