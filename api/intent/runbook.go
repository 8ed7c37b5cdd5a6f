package intent

import (
	"cmp"
	"slices"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/internal/access"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// ReadRunbook reads the runbook that p names, before the node's row is locked. That there is none is an error of p's parameters, of
// which check tells in its turn.
func (s *Service) ReadRunbook(c *gin.Context, p *Provision) error {
	if !p.given("runbook") {
		return nil
	}
	ident, _ := p.Fields["runbook"].(string)
	ident = node.CanonicalUUID(ident)
	if !node.IsUUID(ident) && !node.ValidName(ident, format.MaxMinor) {
		p.RunbookErr = fault.New(fault.Invalid, "Expected a logical name or UUID but received %s.", format.Describe(p.Fields["runbook"]))
		return nil
	}
	ctx := c.Request.Context()
	if v := httpd.View(c, access.RunbookGet); v != nil {
		if _, err := s.Store.RunbookOwners(ctx, ident, v); fault.Is(err, fault.NotFound) {
			p.RunbookErr = err
			return nil
		} else if err != nil {
			return err
		}
	}
	b, err := s.Store.Runbook(ctx, ident)
	if fault.Is(err, fault.NotFound) {
		p.RunbookErr = err
		return nil
	}
	switch {
	case err != nil:
		return err
	case b.Hidden.Unreadable != nil:
		p.RunbookErr = fault.CodedAs(fault.Conflict, fault.SecretUnreadable, "runbook %s: %w", b.Name, b.Hidden.Unreadable)
	default:
		b.Steps = clearSteps(b.Steps, b.Hidden.Clear)
		p.Runbook = b
	}
	return nil
}

// checkRunbook refuses a runbook that does not exist, and parameters that it takes the place of.
func (p *Provision) checkRunbook() error {
	if !p.given("runbook") || p.RunbookErr != nil {
		return p.RunbookErr
	}
	for _, name := range []string{"clean_steps", "service_steps", "disable_ramdisk"} {
		if p.given(name) {
			return fault.New(fault.Invalid, `"%s" can not be given together with "runbook"`, name)
		}
	}
	return nil
}

// approved refuses a runbook of which n has no trait.
func (p *Provision) approved(n *node.Node) error {
	if p.Runbook != nil && !p.Runbook.ApprovedFor(n) {
		return fault.New(fault.Invalid, "This runbook has not been approved for use on this node %s. Please ask an administrator to add it to your node's traits.", n.UUID)
	}
	return nil
}

// runbookSteps are the steps of the runbook as a request would name them.
func runbookSteps(b *node.Runbook) (out []node.Step) {
	for _, s := range slices.SortedStableFunc(slices.Values(b.Steps), func(a, b node.TemplateStep) int { return cmp.Compare(a.Order, b.Order) }) {
		out = append(out, node.Step{Interface: s.Interface, Step: s.Step, Args: s.Args, Asked: true})
	}
	return out
}

// withoutRamdisk reports whether p asks for steps that need no agent.
func (p *Provision) withoutRamdisk() bool {
	return p.DisableRamdisk != nil && *p.DisableRamdisk || p.Runbook != nil && p.Runbook.DisableRamdisk
}
