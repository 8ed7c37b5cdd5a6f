package conductor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.uber.org/zap"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// An operation gives the account of a node at its BMC a new password. The new password is sealed in the database before the BMC hears
// of it, and stays there beside the node's own until it is known which of the two the BMC has (password.go). So whoever dies, and
// whenever, Temper knows the password.

// makeBMCPassword makes the new password, unless an earlier attempt has made it.
func makeBMCPassword(ctx context.Context, t *task, _ *node.Step) (outcome, error) {
	if p := t.password; p != nil && p.Operation == t.op.ID {
		return done, nil
	}
	accounts, err := t.accounts(ctx) // it has settled a password that an earlier operation has left
	if err != nil {
		return 0, err
	}
	rule, err := accounts.PasswordRule(ctx)
	if err != nil {
		return 0, err
	}
	length, err := rule.Length()
	if err != nil {
		return 0, fault.CodedAs(fault.Refused, fault.BMCPasswordRefused, "%w", err)
	}
	text, err := bmc.MakePassword(length)
	if err != nil {
		return 0, err
	}
	return done, t.savePassword(ctx, node.PendingPassword{Operation: t.op.ID, Password: text, Properties: t.passwordProperties()})
}

// passwordProperties returns the properties of driver_info that have the password of the node's account. The serial console may have
// the same account under other names.
func (t *task) passwordProperties() []string {
	i := t.node.Implementation("management")
	all := []string{i.Password}
	const user, password = "ipmi_username", "ipmi_password"
	if i.Password == password || t.driverInfo[password] == nil || t.driverInfo[password] != t.driverInfo[i.Password] {
		return all
	}
	if u := t.driverInfo[user]; u == nil || u == "" || u == t.driverInfo[i.User] {
		all = append(all, password)
	}
	return all
}

// tryBMCPassword gives the new password to a second account and logs in with it, so that a BMC that keeps something else than it was
// given shows it before the node's own account has the password. A BMC that can have no second account is changed without.
func tryBMCPassword(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	p, err := t.madePassword()
	if err != nil {
		return 0, err
	}
	accounts, err := t.accounts(ctx)
	if err != nil {
		return 0, err
	}
	has, err := accounts.HasAccount(ctx, bmc.SpareAccount)
	if err != nil {
		return 0, err
	}
	if has && step.Issued != nil {
		if ok, err := t.logsIn(ctx, bmc.SpareAccount, p.Password); ok || err != nil {
			return done, err
		}
	}
	fresh := bmc.NewPassword{Text: p.Password, Mark: markOf(p)}
	if has {
		err = t.sendOnce(ctx, step, node.Issued{Command: bmc.NameSetPassword(bmc.SpareAccount, fresh.Mark)}, func(ctx context.Context) error {
			return accounts.SetPassword(ctx, bmc.SpareAccount, fresh)
		})
	} else if err = t.ownSpare(ctx); err == nil {
		err = t.sendOnce(ctx, step, node.Issued{Command: bmc.NameAddAccount(bmc.SpareAccount)}, func(ctx context.Context) error {
			return accounts.AddAccount(ctx, bmc.SpareAccount, fresh)
		})
	}
	if fault.Is(err, fault.Refused) || fault.Is(err, fault.Denied) && !has {
		step.Note = "the BMC gave Temper no second account, so the password was changed without a trial: " + fault.Text(err)
		return done, nil
	}
	if err != nil {
		return 0, err
	}
	ok, err := t.logsIn(ctx, bmc.SpareAccount, p.Password)
	if err == nil && !ok {
		err = fault.Coded(fault.BMCPasswordRefused, "the BMC has taken the new password for the account %s, and refuses it at the login; the node's own account keeps its password", bmc.SpareAccount)
	}
	return done, err
}

// ownSpare notes that the operation creates the second account, and so has to remove it.
func (t *task) ownSpare(ctx context.Context) error {
	if t.password.Spare {
		return nil
	}
	p := *t.password
	p.Spare = true
	return t.savePassword(ctx, p)
}

// changeBMCPassword gives the node's account the new password, and logs in with it. If an earlier attempt may have sent it, it looks
// first whether the BMC takes the new one.
func changeBMCPassword(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	p, err := t.madePassword()
	if err != nil {
		return 0, err
	}
	user, name := t.bmcUser(), bmc.NameSetPassword(t.bmcUser(), markOf(p))
	sent := step.Issued != nil
	if sent {
		if ok, err := t.logsIn(ctx, user, p.Password); ok || err != nil {
			t.tookEffect(name)
			return done, err
		}
	}
	err = t.sendPassword(ctx, step, user, name, p)
	if sent && fault.Is(err, fault.Denied) { // perhaps what was sent before has taken effect since
		if ok, failed := t.logsIn(ctx, user, p.Password); ok || failed != nil {
			return done, failed
		}
	}
	if err != nil {
		return 0, refusedAs(fault.BMCPasswordRefused, err)
	}
	for try := 0; ; try++ {
		ok, err := t.logsIn(ctx, user, p.Password)
		switch {
		case ok || err != nil:
			return done, err
		case try > 0:
			return 0, t.takeBack(ctx, user)
		}
		if err := sleep(ctx, t.Settings.PowerPoll); err != nil { // some BMCs need a moment
			return 0, err
		}
	}
}

func (t *task) sendPassword(ctx context.Context, step *node.Step, user, name string, p *node.PendingPassword) error {
	accounts, err := t.accounts(ctx)
	if err != nil {
		return err
	}
	return t.sendOnce(ctx, step, node.Issued{Command: name}, func(ctx context.Context) error {
		return accounts.SetPassword(ctx, user, bmc.NewPassword{Text: p.Password, Mark: markOf(p)})
	})
}

// takeBack gives the account its old password again, after the BMC has taken the new one and refuses it. It uses the session that was
// there before, which many BMCs keep. The error says how it ended.
func (t *task) takeBack(ctx context.Context, user string) error {
	const what = "the BMC has taken the new password, and refuses it at the login"
	accounts, err := t.accounts(ctx)
	if err == nil {
		err = accounts.SetPassword(ctx, user, bmc.NewPassword{Text: t.bmcPassword(), Mark: markOfOwn})
	}
	if err == nil {
		var ok bool
		if ok, err = t.logsIn(ctx, user, t.bmcPassword()); ok {
			return fault.Coded(fault.BMCPasswordRefused, "%s; the account has its old password again", what)
		}
	}
	t.log.Warn("the BMC did not take its old password back", zap.Error(err))
	return fault.Coded(fault.BMCPasswordRefused, "%s, as it does the old one", what)
}

// recordBMCPassword makes the new password the node's, and removes the second account.
func recordBMCPassword(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	if t.password == nil { // an earlier attempt has recorded it
		t.undone(node.UndoBMCPassword)
		return done, nil
	}
	taken, err := t.settlePassword(ctx, step)
	if err != nil {
		return 0, err
	}
	t.undone(node.UndoBMCPassword)
	if !taken {
		return 0, fault.Coded(fault.BMCPasswordRefused, "the BMC had the new password, and has the old one again: somebody else has changed it")
	}
	return done, nil
}

// changingPassword is what a driver may lack.
const changingPassword = "changing the password of its BMC"

// markOfOwn marks the password that a node has.
const markOfOwn = "that of the node"

// markOf tells a new password from others. An operation makes one.
func markOf(p *node.PendingPassword) string { return fmt.Sprintf("that of operation %d", p.Operation) }

// madePassword returns the password that the operation has made.
func (t *task) madePassword() (*node.PendingPassword, error) {
	if t.password == nil || t.password.Operation != t.op.ID {
		return nil, fault.New(fault.Internal, "operation %d has made no password", t.op.ID)
	}
	return t.password, nil
}

func (t *task) bmcUser() string {
	return textArg(t.driverInfo, t.node.Implementation("management").User)
}

func (t *task) bmcPassword() string {
	return textArg(t.driverInfo, t.node.Implementation("management").Password)
}

// savePassword seals the password in the database.
func (t *task) savePassword(ctx context.Context, p node.PendingPassword) error {
	if err := t.Store.SavePassword(ctx, t.op.ID, t.claim, p); err != nil {
		return err
	}
	t.password = &p
	return nil
}

// openAs opens a session with the node's BMC with other credentials than the node's.
func (t *task) openAs(ctx context.Context, user, password string) (bmc.Session, error) {
	if err := t.mayAsk(ctx); err != nil {
		return bmc.Session{}, err
	}
	i, other := t.node.Implementation("management"), maps.Clone(t.driverInfo)
	if i.Password == "" {
		return bmc.Session{}, t.node.Unsupported(changingPassword)
	}
	other[i.User], other[i.Password] = user, password
	s, err := t.driver.Open(ctx, bmc.Target{
		Node: t.node.UUID, Info: other, LastPower: powerOf(t.node.PowerState), Guard: t.permit, Await: t.await, AnswerWithin: t.op.AnswerWithin,
	})
	if err == nil && s.Accounts == nil {
		s.Close()
		err = t.node.Unsupported(changingPassword)
	}
	return s, err
}

// logsIn reports whether the BMC lets somebody in with these credentials.
func (t *task) logsIn(ctx context.Context, user, password string) (bool, error) {
	s, err := t.openAs(ctx, user, password)
	if err != nil {
		return false, err
	}
	defer s.Close()
	began := time.Now()
	err = s.LogIn(t.listening(ctx))
	t.Reach.heard(t.node.UUID, err)
	if isSilence(err) {
		t.silent, t.awaited = t.Settings.AwayTimeout > 0, time.Since(began)
	}
	if t.silent && (err == nil || fault.Is(err, fault.Denied)) {
		t.isBack(ctx)
	}
	if fault.Is(err, fault.Denied) {
		return false, nil
	}
	return err == nil, err
}

// knowsPassword notes for this attempt what the node's password is, after the database has it.
func (t *task) knowsPassword(taken bool) {
	if taken {
		for _, name := range t.password.Properties {
			t.driverInfo[name], t.sealed["driver_info/"+name] = t.password.Password, t.password.Password
		}
	}
	delete(t.sealed, node.PendingPasswordSecret)
	t.password = nil
	if t.session != nil { // it has the old password
		t.session.Close()
		t.session = nil
	}
}

// mayHavePassword reports whether the BMC may have been given the pending password: false only if this operation has made it and
// has certainly not sent it to the node's own account.
func (t *task) mayHavePassword() bool {
	if t.password.Operation != t.op.ID {
		return true
	}
	return slices.ContainsFunc(t.op.Steps, func(s node.Step) bool {
		return s.Step == node.StepChangePassword && (s.Issued != nil || s.State == node.StepDone)
	})
}
