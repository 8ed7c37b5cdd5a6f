package api

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/image"
	"go.temper.dev/temper/internal/node"
)

// unsupported are implementations that exist to say no.
func unsupported(impl string) bool { return impl == "" || strings.HasPrefix(impl, "no-") }

// validateInterface checks one interface of a node without touching hardware.
func (s *Server) validateInterface(n *node.Node, kind string) error {
	impl := n.Interfaces[kind]
	switch {
	case unsupported(impl):
		return fault.New(fault.Invalid, "Driver %s does not support %s (disabled or not implemented).", n.Driver, kind)
	case impl == "noop", impl == "fake":
		return nil
	}
	switch kind {
	case "deploy":
		return s.validateDeploy(n)
	case "boot":
		return s.validateBoot(n)
	case "inspect":
		if impl == "agent" {
			return s.validateBoot(n)
		}
	}
	return s.Drivers.Validate(n.Driver, n.DriverInfo)
}

// validateBoot: the ramdisk agent has to come from somewhere.
func (s *Server) validateBoot(n *node.Node) error {
	if err := s.Drivers.Validate(n.Driver, n.DriverInfo); err != nil {
		return err
	}
	if n.Interfaces["boot"] != "redfish-virtual-media" {
		return nil
	}
	for _, from := range []map[string]any{n.DriverInfo, n.InstanceInfo} {
		iso, ok := from["deploy_iso"].(string)
		if !ok || iso == "" {
			continue
		}
		u, err := url.Parse(iso)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return fault.New(fault.Invalid, "deploy_iso of node %s is not an http or https URL", n.UUID)
		}
		return nil
	}
	return fault.New(fault.Invalid, "node %s has no driver_info/deploy_iso: the boot interface redfish-virtual-media boots the agent from it", n.UUID)
}

// validateDeploy: an image with a checksum, and traits that the node has.
func (s *Server) validateDeploy(n *node.Node) error {
	if n.Interfaces["deploy"] == "direct" {
		if _, err := image.Parse(n.UUID, n.InstanceInfo, n.DriverInfo, s.Images); err != nil {
			return err
		}
	}
	return validateInstanceTraits(n)
}

// validateInstanceTraits: what an instance asks for, its node must have (Ironic
// conductor/utils.py, validate_instance_info_traits).
func validateInstanceTraits(n *node.Node) error {
	given, ok := n.InstanceInfo["traits"]
	if !ok || given == nil {
		return nil
	}
	wanted, ok := given.([]any)
	if !ok {
		return fault.New(fault.Invalid, "Error parsing traits from Node %s instance_info field. Expected a list.", n.UUID)
	}
	var traits []string
	for _, w := range wanted {
		trait, ok := w.(string)
		if !ok {
			return fault.New(fault.Invalid, "Error parsing traits from Node %s instance_info field. Traits must be strings.", n.UUID)
		}
		traits = append(traits, trait)
	}
	if missing := n.Lacks(traits); len(missing) > 0 {
		return fault.New(fault.Invalid, "Cannot specify instance traits that are not also set on the node. Node %s is missing traits %s",
			n.UUID, clip(strings.Join(missing, ", ")))
	}
	return nil
}

// requirements are the interfaces that an operation needs, and what the refusal
// begins with (Ironic conductor/manager.py and deployments.py).
func requirements(n *node.Node, k node.Kind) (kinds []string, words string) {
	switch k {
	case node.KindDeploy, node.KindRebuild:
		return []string{"power", "deploy", "boot"}, "Failed to validate deploy or power info for node %s: "
	case node.KindInspect:
		return []string{"power", "inspect"}, "Failed to inspect hardware. Reason: Failed to validate inspection or power info for node %s: "
	case node.KindClean, node.KindProvide:
		kinds, words = []string{"power"}, "Validation of node %s for cleaning failed: "
		if node.UsesAgent(n, k) {
			kinds = append(kinds, "boot")
		}
		return kinds, words
	case node.KindUndeploy:
		return []string{"power"}, "Failed to validate power driver interface for node %s. Can not delete instance. Error: "
	}
	return []string{"power", "management"}, "Failed to validate power info for node %s: "
}

// plan is the list of steps of an operation that could run: interfaces, image,
// traits and steps are checked, without touching the BMC.
func (s *Server) plan(n *node.Node, k node.Kind, asked []node.Step, p *provision) ([]node.Step, error) {
	_, words := requirements(n, k)
	options := node.PlanOptions{AutomatedClean: s.AutomatedClean}
	if p.disableRamdisk != nil {
		options.DisableRamdisk = *p.disableRamdisk
	}
	noAgent := options.DisableRamdisk || k == node.KindProvide && !node.CleansAutomatically(n, s.AutomatedClean)
	if err := s.fits(n, k, noAgent); err != nil {
		return nil, err
	}
	steps, err := node.Plan(k, n, asked, options)
	if err != nil && fault.Is(err, fault.Invalid) {
		return nil, fault.New(fault.Invalid, "%s%w", fmt.Sprintf(words, n.UUID), err)
	}
	return steps, err
}

// fits checks the interfaces that an operation of kind k needs.
func (s *Server) fits(n *node.Node, k node.Kind, noAgent bool) error {
	kinds, words := requirements(n, k)
	for _, kind := range kinds {
		if kind == "boot" && noAgent {
			continue
		}
		if err := s.validateInterface(n, kind); err != nil {
			return fault.New(fault.Invalid, "%s%w", fmt.Sprintf(words, n.UUID), err)
		}
	}
	return nil
}

// getValidate answers GET /v1/nodes/X/validate: every interface, and why it
// would not do.
func (s *Server) getValidate(c *gin.Context) (int, any, error) {
	if q := readQuery(c); q.err != nil {
		return 0, nil, q.err
	}
	n, fl, err := s.nodeAndFleet(c)
	if err != nil {
		return 0, nil, err
	}
	if err := fl.covered(n); err != nil {
		return 0, nil, err
	}
	out := make(map[string]any, len(interfaceKinds))
	for _, i := range interfaceKinds {
		verdict := map[string]any{"result": true}
		if err := s.validateInterface(n, i.name); err != nil {
			verdict = map[string]any{"result": false, "reason": err.Error()}
		}
		out[i.name] = verdict
	}
	return http.StatusOK, out, nil
}
