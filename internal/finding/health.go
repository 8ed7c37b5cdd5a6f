package finding

import (
	"fmt"
	"slices"
	"strings"

	"go.temper.dev/temper/internal/node"
)

// maxHealthReasons is how many reasons a sentence names.
const maxHealthReasons = 3

// HealthReasons names the parts that are wrong, those in critical health if there are any.
func HealthReasons(all []node.HealthReason) string {
	shown := slices.Clone(all)
	if slices.ContainsFunc(shown, func(r node.HealthReason) bool { return r.Severity == node.HealthCritical }) {
		shown = slices.DeleteFunc(shown, func(r node.HealthReason) bool { return r.Severity != node.HealthCritical })
	}
	var out []string
	for _, r := range shown[:min(len(shown), maxHealthReasons)] {
		out = append(out, HealthReason(r))
	}
	if more := len(shown) - len(out); more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(out, "; ")
}

// componentWords name the kinds of parts.
var componentWords = map[node.ComponentKind]string{
	node.ComponentSystem: "the server", node.ComponentChassis: "chassis", node.ComponentManager: "BMC", node.ComponentProcessor: "processor",
	node.ComponentMemory: "memory", node.ComponentStorage: "storage", node.ComponentNetwork: "network", node.ComponentTemperature: "temperature",
	node.ComponentFan: "fan", node.ComponentPowerSupply: "power supply",
}

// HealthReason says in a sentence without a full stop what is wrong with a part.
func HealthReason(r node.HealthReason) string {
	part := componentWords[r.Kind]
	if r.Name != "" {
		part += " " + r.Name
	}
	return part + ": " + strings.TrimSuffix(Clean(r.Message), ".")
}
