package admission

import (
	"slices"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// Management decides what a request of kind k to the management interface does to n; reservation as in Verb. Unlike a request
// for a power state it is refused while an operation is open, because the steps of that set the boot device themselves.
// Errors: Conflict, and Invalid if n's driver can't do it. Whether a server is on that an NMI is for, only its BMC knows: the step asks it.
func Management(n *node.Node, k node.OperationKind, reservation string) (Effect, error) {
	if n.Operation != nil {
		return Effect{}, node.Locked(n, reservation)
	}
	if err := SupportsManagement(n, k); err != nil {
		return Effect{}, err
	}
	if k == node.KindDetachMedia && (n.ProvisionState == node.Rescue || slices.Contains(n.Owed, node.UndoEjectMedia)) {
		return Effect{}, fault.Coded(fault.StateNotAllowed, "Node %s may still need the virtual medium from which its agent was booted, so that its virtual drives can't be emptied now.", n.UUID)
	}
	if k == node.KindDetachMedia && n.ProvisionState == node.Active && n.InstanceISO(n.InstanceInfo) != "" {
		return Effect{}, fault.Coded(fault.StateNotAllowed, "The instance of node %s runs from the ISO image in its virtual drive, so that its virtual drives can't be emptied now.", n.UUID)
	}
	return Effect{Open: k, From: n.ProvisionState, To: n.ProvisionState}, nil
}

// SupportsManagement returns Ironic's error if n's management interface has no requests of kind k.
func SupportsManagement(n *node.Node, k node.OperationKind) error {
	switch i := n.Implementation("management"); {
	case i.Means == node.MeansNone, i.Means == node.MeansNoop:
		return n.Unsupported("management")
	case k == node.KindNMI && !i.NMI:
		return n.Unsupported(node.StepInjectNMI)
	case k.Spec().Step != "" && !slices.Contains(i.Requests, k):
		return n.Unsupported(k.Spec().Step)
	case k == node.KindBMCPassword && i.Means != node.MeansFake:
		return supportsPassword(n, i)
	}
	return nil
}

// supportsPassword returns an error if the password of n's BMC can't be changed.
func supportsPassword(n *node.Node, i node.Implementation) error {
	if i.Password == "" {
		return fault.New(fault.Invalid, "Node %s: the management interface %s can't change the password of a BMC. It can with the driver redfish.", n.UUID, i.Name)
	}
	for _, name := range []string{i.User, i.Password} {
		if v, _ := n.DriverInfo[name].(string); v == "" {
			return fault.New(fault.Invalid, "Node %s has no driver_info/%s, so Temper knows no account whose password it could change.", n.UUID, name)
		}
	}
	return nil
}
