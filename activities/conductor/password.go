package conductor

import (
	"context"

	"go.uber.org/zap"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// settlePassword finds out whether the BMC has the pending password or the node's own, and makes it the node's. It removes the second
// account that the operation has created. step gets a note if that fails; it may be nil. Without a pending password it does nothing.
func (t *task) settlePassword(ctx context.Context, step *node.Step) (taken bool, err error) {
	p := t.password
	if p == nil {
		return false, nil
	}
	if _, err := t.awaitOthers(ctx, ""); err != nil { // the password may change until then
		return false, err
	}
	if t.mayHavePassword() {
		if taken, err = t.whichPassword(ctx, p); err != nil {
			return false, err
		}
	}
	if p.Spare {
		if err := t.removeSpare(ctx, p, taken, step); err != nil {
			return false, err
		}
	}
	if err := t.Store.SettlePassword(ctx, t.op.ID, t.claim, taken); err != nil {
		return false, err
	}
	t.knowsPassword(taken)
	return taken, nil
}

// whichPassword returns whether the BMC has the pending password. If it takes neither that one nor the node's own, the second account may
// still be able to give it the node's own.
func (t *task) whichPassword(ctx context.Context, p *node.PendingPassword) (taken bool, err error) {
	user := t.bmcUser()
	if ok, err := t.logsIn(ctx, user, p.Password); ok || err != nil {
		return ok, err
	}
	if ok, err := t.logsIn(ctx, user, t.bmcPassword()); ok || err != nil {
		return false, err
	}
	if p.Spare {
		if ok, err := t.giveBack(ctx, user, p); ok || err != nil {
			return false, err
		}
	}
	return false, fault.Coded(fault.BMCWrongPassword, "the BMC takes neither the password of the node nor the new one that operation %d has made for it", p.Operation)
}

// giveBack gives the node's account its password, from the second account. It reports whether the BMC takes it then.
func (t *task) giveBack(ctx context.Context, user string, p *node.PendingPassword) (bool, error) {
	s, err := t.openAs(ctx, bmc.SpareAccount, p.Password)
	if err != nil {
		return false, err
	}
	defer s.Close()
	err = asker{s, t}.SetPassword(ctx, user, bmc.NewPassword{Text: t.bmcPassword(), Mark: markOfOwn})
	if fault.Is(err, fault.Denied) || fault.Is(err, fault.Refused) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return t.logsIn(ctx, user, t.bmcPassword())
}

// removeSpare removes the second account. If the BMC refuses that, the operation goes on: step, if there is one, and the log say so.
func (t *task) removeSpare(ctx context.Context, p *node.PendingPassword, taken bool, step *node.Step) error {
	password := t.bmcPassword()
	if taken {
		password = p.Password
	}
	s, err := t.openAs(ctx, t.bmcUser(), password)
	if err != nil {
		return err
	}
	defer s.Close()
	err = asker{s, t}.RemoveAccount(ctx, bmc.SpareAccount)
	if err == nil || !fault.Is(err, fault.Refused) && !fault.Is(err, fault.Denied) {
		return err
	}
	t.log.Warn("the BMC did not remove the second account", zap.String("account", bmc.SpareAccount), zap.Error(err))
	if step != nil {
		step.Note = "the BMC did not remove the account " + bmc.SpareAccount + ", which has the new password: " + fault.Text(err)
	}
	return nil
}
