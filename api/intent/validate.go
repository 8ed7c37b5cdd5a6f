package intent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/image"
	"go.temper.dev/temper/internal/mask"
	"go.temper.dev/temper/internal/medium"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

// ValidateInterface checks one interface of a node without touching hardware. With the interface deploy it checks, whatever the
// driver, that the node has the traits that the instance wants, and that there is such a boot mode (Ironic conductor/manager.py, validate_driver_interfaces).
func (s *Service) ValidateInterface(n *node.Node, kind string) error {
	err := s.validateImplementation(n, kind)
	if err == nil && kind == "deploy" {
		err = validateInstanceTraits(n)
	}
	if err == nil && kind == "deploy" {
		_, err = n.WantsBootMode()
	}
	return err
}

// validateImplementation checks the implementation that the node has of an interface.
func (s *Service) validateImplementation(n *node.Node, kind string) error {
	switch i := n.Implementation(kind); {
	case i.Means == node.MeansNone:
		return n.Unsupported(kind)
	case i.Means == node.MeansNoop, i.Means == node.MeansFake:
		return nil
	case i.WritesImage:
		return s.validateDeploy(n)
	case i.BootsISO:
		if err := n.CheckInstanceISO(); err != nil {
			return fault.Coded(fault.ImageInvalid, "%w", err)
		}
		return nil
	case i.Means == node.MeansAgent && kind == "rescue":
		return s.validateBoot(n, node.RescueFamily)
	case i.Means == node.MeansAgent, i.Boot != "":
		return s.validateBoot(n, node.DeployFamily)
	}
	return s.Drivers.Validate(n.Driver, n.DriverInfo)
}

// validateBoot checks that the node's boot interface has what it needs to boot the
// ramdisk for operations of family f.
func (s *Service) validateBoot(n *node.Node, f node.Family) error {
	if err := s.Drivers.Validate(n.Driver, n.DriverInfo); err != nil {
		return err
	}
	switch boot := n.Implementation("boot"); {
	case boot.Means == node.MeansNone:
		return n.Unsupported("boot")
	case !n.BootsFromImage() && !n.BootsByNetwork():
		return nil
	}
	ramdisk, err := s.Boot.Ramdisk(n, f, n.DriverInfo, n.InstanceInfo)
	if err != nil || ramdisk.ISO != "" {
		return err
	}
	return checkMedium(n, ramdisk)
}

// CheckPorts checks that a node that boots by network has a port. The error is fault.Invalid if it has none.
func (s *Service) CheckPorts(ctx context.Context, n *node.Node) error {
	if !n.BootsByNetwork() {
		return nil
	}
	ports, err := s.Store.Ports(ctx, node.PortFilter{Node: &n.UUID}, node.Page{Limit: 1, SortKey: "id"})
	if err == nil && len(ports) == 0 {
		err = fault.New(fault.Invalid, "Node %s does not have any port associated with it: whoever serves boots by network finds its server by the MAC addresses of its ports.", n.UUID)
	}
	return err
}

// HowItBoots says for people from where n's server will boot its agent, where the agent calls, and who else could read what it boots; "" =
// the node names what it boots. It follows from the settings of this process, which conductors have, too.
func (s *Service) HowItBoots(n *node.Node) string {
	if !n.BootsFromImage() && !n.BootsByNetwork() {
		return ""
	}
	ramdisk, err := s.Boot.Ramdisk(n, node.DeployFamily, n.DriverInfo, n.InstanceInfo)
	if err != nil || ramdisk.ISO != "" {
		return ""
	}
	agent := mask.URLs(ramdisk.Site.AgentURL)
	if n.BootsByNetwork() {
		return fmt.Sprintf("The server will load its agent by network, by the MAC addresses of its ports, and the agent will call %s. "+
			"No token goes this way: whoever claims such an address loads the same files, and the first agent that calls gets the token", agent)
	}
	media := strings.TrimRight(ramdisk.Site.MediaURL, "/") + medium.PathPrefix
	who := "The BMC"
	if n.Implementation("boot").Boot == node.BootHTTPImage {
		who = "The server's UEFI"
	}
	return fmt.Sprintf("%s will fetch a CD below %s, and the agent on it will call %s", who, mask.URLs(media), agent)
}

// checkMedium checks that what n says has room on the CD that Temper makes or on a command line, and goes through boot loaders.
func checkMedium(n *node.Node, r node.Ramdisk) error {
	contents := medium.Contents{APIURLs: []string{r.Site.AgentURL}, Append: r.Site.Append}
	if n.BootsByNetwork() {
		if err := contents.CheckNetwork(); err != nil {
			return fault.New(fault.Invalid, "node %s: %w", n.UUID, err)
		}
		return nil
	}
	network, err := json.Marshal(n.NetworkData)
	if err == nil {
		contents.Network, contents.OnCommandLine = network, r.Files != (node.Files{})
		err = contents.Check()
	}
	if err != nil {
		return fault.New(fault.Invalid, "node %s: %w", n.UUID, err)
	}
	return nil
}

// validateDeploy checks the image and its checksum.
func (s *Service) validateDeploy(n *node.Node) error {
	if _, err := image.Parse(n.UUID, n.InstanceInfo, n.DriverInfo, s.Images); err != nil {
		return fault.Coded(fault.ImageInvalid, "%w", err)
	}
	return nil
}

// validateInstanceTraits checks that the node has the traits that the instance wants
// (Ironic conductor/utils.py, validate_instance_info_traits).
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
			n.UUID, format.Clip(strings.Join(missing, ", ")))
	}
	return nil
}

// plan returns the steps of an operation. It checks interfaces, image, traits and steps,
// without a request to the BMC.
func (s *Service) plan(n *node.Node, k node.OperationKind, asked []node.Step, p *Provision) ([]node.Step, error) {
	options := plan.Options{AutomatedClean: s.AutomatedClean, RescuePassword: p.RescueHash, RescueKeys: p.RescueKeys, Templates: p.Templates}
	options.DisableRamdisk = p.withoutRamdisk()
	steps, err := plan.Steps(k, n, asked, options)
	noAgent := options.DisableRamdisk || err == nil && !node.BootsAgent(steps)
	if err := s.Fits(n, k, noAgent); err != nil {
		return nil, err
	}
	if err != nil && fault.Is(err, fault.Invalid) {
		return nil, fault.New(fault.Invalid, "%s%w", fmt.Sprintf(k.Spec().Refusal, n.UUID), err)
	}
	return steps, err
}

// Supports reports whether n's driver can do an operation of kind k, whatever else is wrong with the node.
func (s *Service) Supports(n *node.Node, k node.OperationKind) bool {
	_, err := s.plan(n, k, nil, &Provision{})
	return fault.CodeOf(err) != fault.NotSupported
}

// Fits checks the interfaces that an operation of kind k needs.
func (s *Service) Fits(n *node.Node, k node.OperationKind, noAgent bool) error {
	spec := k.Spec()
	for _, i := range interfacesOf(spec, noAgent) {
		if err := s.ValidateInterface(n, i); err != nil {
			return misfit(n, spec, err)
		}
	}
	return nil
}

// interfacesOf returns the interfaces that must be valid.
func interfacesOf(spec node.KindSpec, noAgent bool) []string {
	if noAgent {
		return spec.Needs
	}
	return slices.Concat(spec.Needs, spec.AgentNeeds)
}

// misfit is the error for an operation that an interface is not valid for.
func misfit(n *node.Node, spec node.KindSpec, err error) error {
	return fault.CodedAs(fault.Invalid, ValidationCode(err), "%s%w", fmt.Sprintf(spec.Refusal, n.UUID), err)
}

// ValidationCode is the code of an error of ValidateInterface.
func ValidationCode(err error) fault.Code {
	if code := fault.CodeOf(err); code != fault.InvalidRequest {
		return code
	}
	return fault.ValidationFailed
}
