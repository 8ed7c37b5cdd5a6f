package activities_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
	"go.temper.dev/temper/internal/share"
)

const oldPassword = "OldHunter2.OldHunter2"

// accounts are the accounts of a BMC, by name, with their passwords.
type accounts struct {
	mu       sync.Mutex
	password map[string]string
	full     bool // no account can be created
	keeps    int  // how many characters of a new password it keeps; 0 = all
	sent     []string
	refused  int // logins
	// fate decides what becomes of a request; nil = it has its effect and is answered.
	fate func(name string) (effect bool, err error)
}

// accountSession is a conversation with certain credentials. As on many BMCs, it lasts when the password is changed.
type accountSession struct {
	*session
	*accounts
	user, with string
	in         bool
}

func (a *accountSession) LogIn(context.Context) error {
	a.accounts.mu.Lock()
	defer a.accounts.mu.Unlock()
	if a.silent {
		return fault.New(fault.Unreachable, "node: %w", fault.NoAnswerError("no answer in time"))
	}
	if a.in = a.with != "" && a.password[a.user] == a.with; !a.in {
		a.accounts.refused++
		return fault.Coded(fault.BMCWrongPassword, "401")
	}
	return nil
}

func (a *accountSession) ready(ctx context.Context) error {
	if a.in {
		return nil
	}
	return a.LogIn(ctx)
}

func (a *accountSession) PasswordRule(ctx context.Context) (bmc.PasswordRule, error) {
	return bmc.PasswordRule{IPMI: true}, a.ready(ctx)
}

func (a *accountSession) HasAccount(ctx context.Context, user string) (bool, error) {
	return a.password[user] != "", a.ready(ctx)
}

// ask sends a request that has an effect.
func (a *accountSession) ask(ctx context.Context, name string, effect func()) error {
	if err := a.ready(ctx); err != nil {
		return err
	}
	if err := a.write(ctx, name); err != nil {
		return err
	}
	a.accounts.mu.Lock()
	defer a.accounts.mu.Unlock()
	a.sent = append(a.sent, name)
	works, err := true, error(nil)
	if a.fate != nil {
		works, err = a.fate(name)
	}
	if works {
		effect()
	}
	return err
}

func (a *accountSession) keep(user, password string) {
	if a.keeps > 0 {
		password = password[:min(len(password), a.keeps)]
	}
	a.password[user] = password
}

func (a *accountSession) SetPassword(ctx context.Context, user string, p bmc.NewPassword) error {
	return a.ask(ctx, bmc.NameSetPassword(user, p.Mark), func() { a.keep(user, p.Text) })
}

func (a *accountSession) AddAccount(ctx context.Context, user string, p bmc.NewPassword) error {
	if a.full {
		return fault.New(fault.Refused, "no room for an account")
	}
	return a.ask(ctx, bmc.NameAddAccount(user), func() { a.keep(user, p.Text) })
}

func (a *accountSession) RemoveAccount(ctx context.Context, user string) error {
	if a.password[user] == "" {
		return nil
	}
	return a.ask(ctx, bmc.NameRemoveAccount(user), func() { delete(a.password, user) })
}

// newPasswordBench is a bench with an operation of kind k on a node whose BMC has accounts.
func newPasswordBench(t *testing.T, k node.OperationKind) *bench {
	t.Helper()
	interfaces := map[string]string{"deploy": "direct", "boot": "redfish-virtual-media", "network": "noop", "management": "redfish"}
	n := &node.Node{UUID: uuid, ProvisionState: node.Active, Interfaces: interfaces, DriverInfo: map[string]any{
		"redfish_username": "admin", "redfish_password": oldPassword, "ipmi_password": oldPassword,
	}}
	b := newBenchOf(t, n, nil, k, bmc.PowerOn, plan.Options{Power: node.PowerOff})
	b.machine.accounts = &accounts{password: map[string]string{"admin": oldPassword}}
	return b
}

// known returns the passwords that Temper knows of the node: its own, and the pending one.
func (b *bench) known() (own, console, pending string) {
	b.Helper()
	sealed, err := b.book.Credentials(b.Context(), b.node())
	require.NoError(b, err)
	if p := node.AsPendingPassword(sealed[node.PendingPasswordSecret]); p != nil {
		pending = p.Password
	}
	own, _ = sealed["driver_info/redfish_password"].(string)
	console, _ = sealed["driver_info/ipmi_password"].(string)
	return own, console, pending
}

// rotated requires that the BMC has a new password, which is the node's, and that nothing is left.
func (b *bench) rotated() {
	b.Helper()
	own, console, pending := b.known()
	require.Equal(b, map[string]string{"admin": own}, b.machine.accounts.password)
	require.NotEqual(b, oldPassword, own)
	require.Len(b, own, 16)
	require.Equal(b, own, console, "the serial console has the same account")
	require.Empty(b, pending)
	require.Empty(b, b.op().Undo)
	b.told(own)
}

// told requires that the password is in the clear in no row.
func (b *bench) told(password string) {
	b.Helper()
	b.book.beside(func(c *pgx.Conn) error {
		for _, table := range []string{"nodes", "operations", "events", "secrets", "bmc_requests"} {
			var found bool
			if err := c.QueryRow(b.Context(), "SELECT coalesce(bool_or(position($1 IN r::text) > 0), false) FROM "+table+" r", password).Scan(&found); err != nil {
				return err
			}
			require.False(b, found, table)
		}
		return nil
	})
}

func TestABMCGetsANewPassword(t *testing.T) {
	t.Parallel()
	b := newPasswordBench(t, node.KindBMCPassword)
	r, err := b.run()
	require.NoError(t, err)
	require.EqualValues(t, "close", r.Next)
	b.rotated()
	mark := fmt.Sprintf("that of operation %d", b.book.op)
	require.Equal(t, []string{bmc.NameAddAccount(bmc.SpareAccount), bmc.NameSetPassword("admin", mark), bmc.NameRemoveAccount(bmc.SpareAccount)}, b.machine.accounts.sent)
	require.Zero(t, b.machine.accounts.refused, "no login fails that could lock the account")
}

func TestABMCWithoutRoomForASecondAccountGetsANewPassword(t *testing.T) {
	t.Parallel()
	b := newPasswordBench(t, node.KindBMCPassword)
	b.machine.accounts.full = true
	_, err := b.run()
	require.NoError(t, err)
	b.rotated()
	require.Contains(t, b.op().Steps[1].Note, "the BMC gave Temper no second account, so the password was changed without a trial: no room for an account")
}

// A second account of this name that was there before is used, and stays.
func TestASecondAccountOfAPersonStays(t *testing.T) {
	t.Parallel()
	b := newPasswordBench(t, node.KindBMCPassword)
	b.machine.accounts.password[bmc.SpareAccount] = "something"
	_, err := b.run()
	require.NoError(t, err)
	own, _, _ := b.known()
	require.Equal(t, map[string]string{"admin": own, bmc.SpareAccount: own}, b.machine.accounts.password)
}

// Whatever request gets lost, with or without its effect, and wherever the claim is lost: at each moment Temper knows the password, and
// the operation succeeds when it is tried again.
func TestTemperAlwaysKnowsThePassword(t *testing.T) {
	t.Parallel()
	for _, request := range []string{"create the account", "set the password of admin", "remove the account"} {
		for _, effect := range []bool{true, false} {
			for _, full := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s, effect %t, full %t", request, effect, full), func(t *testing.T) {
					t.Parallel()
					b := newPasswordBench(t, node.KindBMCPassword)
					b.machine.accounts.full = full
					lost := 0
					b.machine.accounts.fate = func(name string) (bool, error) {
						if strings.HasPrefix(name, request) && lost == 0 {
							lost++
							return effect, fault.New(fault.Unreachable, "node: %w", fault.NoAnswerError("no answer in time"))
						}
						return true, nil
					}
					for range 3 {
						_, err := b.run()
						own, _, pending := b.known()
						require.Contains(t, []string{own, pending}, b.machine.accounts.password["admin"])
						if err == nil {
							break
						}
					}
					b.rotated()
				})
			}
		}
	}
}

// A conductor that loses its claim before any of its writes or requests leaves work that the next one ends.
func TestTheNextConductorEndsTheRotation(t *testing.T) {
	t.Parallel()
	for at := 1; ; at++ {
		b := newPasswordBench(t, node.KindBMCPassword)
		n := 0
		steal := func() {
			if n++; n == at {
				b.changeOp(func(o *node.Operation) { o.Claim.Seq++ })
				b.seq++
			}
		}
		b.book.onSave = func(int) { steal() }
		b.book.onRequest = func() error { steal(); return nil }
		_, err := b.run()
		own, _, pending := b.known()
		require.Contains(t, []string{own, pending}, b.machine.accounts.password["admin"])
		if err == nil {
			require.Greater(t, at, 8, "it has many places")
			return
		}
		_, err = b.run()
		require.NoError(t, err, "stolen at %d", at)
		b.rotated()
	}
}

func TestAPasswordThatTheBMCDoesNotKeepIsFoundOnTheSecondAccount(t *testing.T) {
	t.Parallel()
	b := newPasswordBench(t, node.KindBMCPassword)
	b.machine.accounts.keeps = 8
	_, err := b.run()
	require.ErrorContains(t, err, "the node's own account keeps its password")
	require.True(t, final(err))
	require.Equal(t, fault.BMCPasswordRefused, b.op().Steps[1].Cause)
	require.NoError(t, b.undo())
	own, _, pending := b.known()
	require.Equal(t, []string{oldPassword, "", oldPassword}, []string{own, pending, b.machine.accounts.password["admin"]})
	require.NotContains(t, b.machine.accounts.password, bmc.SpareAccount)
	require.Equal(t, 1, b.machine.accounts.refused, "the undo tries no password that was not sent")
}

func TestAPasswordThatTheBMCDoesNotKeepIsTakenBack(t *testing.T) {
	t.Parallel()
	b := newPasswordBench(t, node.KindBMCPassword)
	b.machine.accounts.full = true
	b.machine.accounts.fate = func(string) (bool, error) {
		b.machine.accounts.keeps = 0
		if len(b.machine.accounts.sent) == 1 {
			b.machine.accounts.keeps = 8
		}
		return true, nil
	}
	_, err := b.run()
	require.ErrorContains(t, err, "the account has its old password again")
	require.Equal(t, fault.BMCPasswordRefused, b.op().Steps[2].Cause)
	require.NoError(t, b.undo())
	own, _, pending := b.known()
	require.Equal(t, []string{oldPassword, "", oldPassword}, []string{own, pending, b.machine.accounts.password["admin"]})
}

// The second account gives the node's own its password again if the BMC takes no other way.
func TestTheSecondAccountRestoresThePassword(t *testing.T) {
	t.Parallel()
	b := newPasswordBench(t, node.KindBMCPassword)
	a := b.machine.accounts
	a.fate = func(name string) (bool, error) {
		switch {
		case strings.HasPrefix(name, "set the password of admin") && !strings.HasSuffix(name, "of the node"):
			a.password["admin"] = "something-else"
			return false, nil
		case len(a.sent) == 3: // the request to take it back
			return false, fault.New(fault.Refused, "no")
		}
		return true, nil
	}
	_, err := b.run()
	require.ErrorContains(t, err, "as it does the old one")
	require.NoError(t, b.undo())
	own, _, pending := b.known()
	require.Equal(t, []string{oldPassword, ""}, []string{own, pending})
	require.Equal(t, map[string]string{"admin": oldPassword}, a.password)
}

// The BMC falls silent after it was sent the password. The operation fails, the node owes it to find out, and whatever asks the BMC next does.
func TestAPasswordThatIsNotSettledIsOwed(t *testing.T) {
	t.Parallel()
	for _, effect := range []bool{true, false} {
		t.Run(fmt.Sprint(effect), func(t *testing.T) {
			b := newPasswordBench(t, node.KindBMCPassword)
			b.machine.accounts.full = true
			b.machine.accounts.fate = func(string) (bool, error) {
				b.machine.silent = true
				return effect, fault.New(fault.Unreachable, "node: %w", fault.NoAnswerError("no answer in time"))
			}
			_, err := b.run()
			require.Error(t, err)
			require.Error(t, b.undo())
			require.Equal(t, []node.Undo{node.UndoBMCPassword}, b.op().Undo, "closing makes it what the node owes")

			b.machine.silent, b.machine.accounts.fate = false, nil
			b.left(bmc.NameSetPassword("admin", "x"), 0)
			require.NoError(t, b.undo())
			own, _, pending := b.known()
			require.Empty(t, pending)
			require.Equal(t, b.machine.accounts.password["admin"], own)
			require.Equal(t, effect, own != oldPassword)
			require.Empty(t, b.op().Undo)
		})
	}
}

// An operation of any kind first finds out which password the BMC has.
func TestTheNextOperationSettlesThePassword(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ has string }{"the new one": {"NewHunter3.NewHunter3"}, "the old one": {oldPassword}} {
		t.Run(name, func(t *testing.T) {
			b := newPasswordBench(t, node.KindPower)
			b.machine.accounts.password["admin"] = c.has
			b.change(func(n *node.Node) { n.Owed = []node.Undo{node.UndoBMCPassword} })
			n := b.node()
			claim := node.Claim{Seq: 1, Attempt: 1}
			b.seq = 1
			_, err := b.book.Claim(t.Context(), b.book.op, run, claim, time.Now(), "c0")
			require.NoError(t, err)
			require.NoError(t, b.book.SavePassword(t.Context(), b.book.op, claim, node.PendingPassword{
				Operation: n.Operation.ID - 1, Password: "NewHunter3.NewHunter3", Properties: []string{"redfish_password"},
			}))
			_, err = b.run()
			require.NoError(t, err)
			own, _, pending := b.known()
			require.Equal(t, []string{c.has, ""}, []string{own, pending})
			require.Empty(t, b.node().Owed)
			require.Equal(t, bmc.PowerOff, b.machine.power)
		})
	}
}

// Who gives the password of a BMC knows it, so the pending one is forgotten.
func TestAPersonsPasswordReplacesThePendingOne(t *testing.T) {
	t.Parallel()
	b := newPasswordBench(t, node.KindBMCPassword)
	claim := node.Claim{Seq: 1, Attempt: 1}
	_, err := b.book.Claim(t.Context(), b.book.op, run, claim, time.Now(), "c0")
	require.NoError(t, err)
	require.NoError(t, b.book.SavePassword(t.Context(), b.book.op, claim, node.PendingPassword{Operation: b.book.op, Password: "NewHunter3.NewHunter3"}))
	_, _, pending := b.known()
	require.NotEmpty(t, pending)
	_, err = b.book.ClaimNode(t.Context(), uuid, "ann", share.Claimer{}, func(n *node.Node) (node.Secrets, error) {
		n.DriverInfo["redfish_address"] = "https://another.example.org"
		return node.Secrets{"driver_info/redfish_password": "Third.Hunter4", "driver_info/ipmi_password": "Third.Hunter4"}, nil
	})
	require.NoError(t, err)
	own, _, pending := b.known()
	require.Equal(t, []string{"Third.Hunter4", ""}, []string{own, pending})
}
