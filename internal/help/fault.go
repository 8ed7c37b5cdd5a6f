package help

import (
	"cmp"

	"go.temper.dev/temper/internal/explain"
	"go.temper.dev/temper/internal/fault"
)

// advice is what helps with an error whatever the node is.
type advice struct {
	do     explain.Do
	effect string // "" = as the table of actions says
}

var byCode = map[fault.Code]advice{
	fault.NodeNotFound:      {do: explain.ListNodes},
	fault.PortNotFound:      {do: explain.ListPorts},
	fault.ConductorNotFound: {do: explain.ListConductors},
	fault.OperationNotFound: {do: explain.ListOperations},
	fault.NoConductor:       {explain.ListConductors, "shows which conductors there are, and for what"},
	fault.NoConductorAlive:  {explain.ListConductors, "shows whether a conductor is alive"},
}

// ForCode returns what can be done about an error of that code whatever the node is.
func ForCode(code fault.Code) []Item {
	a, ok := byCode[code]
	if !ok {
		return nil
	}
	item := Of(nil, explain.Action{Do: a.do})
	item.Effect = cmp.Or(a.effect, item.Effect)
	return []Item{item}
}
