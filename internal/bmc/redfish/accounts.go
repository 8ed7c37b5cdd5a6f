package redfish

import (
	"context"
	"net/http"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
)

// administrator is the role of accounts that may do everything (Redfish's Role, predefined roles).
const administrator = "Administrator"

// accountService is a BMC's service of accounts.
type accountService struct {
	Min      looseNumber `json:"MinPasswordLength"`
	Max      looseNumber `json:"MaxPasswordLength"`
	Accounts link
}

// account is an account as a BMC tells it. On some BMCs the number of accounts is fixed; those that are free have no name.
type account struct {
	ETag    looseString `json:"@odata.etag"`
	User    looseString `json:"UserName"`
	Enabled loose[*bool]
	Types   looseList[looseString] `json:"AccountTypes"`

	path, etag string
}

// off reports whether the BMC says that nobody can log in with the account.
func (a *account) off() bool { return a.Enabled.v != nil && !*a.Enabled.v }

// accountService reads the service.
func (s *session) accountService(ctx context.Context) (accountService, error) {
	root, err := s.endpoint.serviceRoot(ctx)
	if err != nil {
		return accountService{}, err
	}
	var service accountService
	if root.AccountService == "" {
		return service, fault.New(fault.Refused, "the BMC has no service of accounts")
	}
	if _, err := s.read(ctx, string(root.AccountService), &service); err != nil {
		return service, err
	}
	if service.Accounts == "" {
		return service, fault.New(fault.Refused, "the BMC's service of accounts lists no accounts")
	}
	return service, nil
}

// accounts reads accounts until found returns true for one, which it returns; nil = for none.
func (s *session) accounts(ctx context.Context, service accountService, found func(*account) bool) (*account, error) {
	paths, err := s.members(ctx, string(service.Accounts))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		one := &account{path: path}
		a, err := s.read(ctx, path, one)
		if err != nil {
			if !skippable(err) {
				return nil, err
			}
			continue
		}
		if one.etag = a.etag(one.ETag); found(one) {
			return one, nil
		}
	}
	return nil, nil
}

// account returns the account with that name, nil if there is none.
func (s *session) account(ctx context.Context, user string) (accountService, *account, error) {
	service, err := s.accountService(ctx)
	if err != nil {
		return service, nil, err
	}
	one, err := s.accounts(ctx, service, func(a *account) bool { return string(a.User) == user })
	return service, one, err
}

// ownAccount is account for an account that there has to be.
func (s *session) ownAccount(ctx context.Context, user string) (accountService, *account, error) {
	service, one, err := s.account(ctx, user)
	if err == nil && one == nil {
		err = fault.New(fault.Refused, "the BMC lists no account %s that this account may read", printable(user, 80))
	}
	return service, one, err
}

// PasswordRule reads which passwords the BMC takes for the account of this conversation.
func (s *session) PasswordRule(ctx context.Context) (bmc.PasswordRule, error) {
	ctx, done := withBudget(ctx, callTime)
	defer done()
	service, own, err := s.ownAccount(ctx, s.endpoint.info.username)
	if err != nil {
		return bmc.PasswordRule{}, s.wrap("read which passwords it takes", err)
	}
	rule := bmc.PasswordRule{Min: int(service.Min), Max: int(service.Max), IPMI: len(own.Types) == 0}
	for _, t := range own.Types {
		rule.IPMI = rule.IPMI || t == "IPMI"
	}
	return rule, nil
}

// LogIn logs in anew.
func (s *session) LogIn(ctx context.Context) error {
	ctx, done := withBudget(ctx, callTime)
	defer done()
	s.mayBeTried(s.endpoint.info.username, s.endpoint.info.password)
	s.endpoint.LogOut(ctx, false)
	_, err := s.endpoint.ensureLogin(ctx, 0)
	return s.wrap("log in", err)
}

// HasAccount reports whether there is an enabled account of that name.
func (s *session) HasAccount(ctx context.Context, user string) (bool, error) {
	ctx, done := withBudget(ctx, callTime)
	defer done()
	_, one, err := s.account(ctx, user)
	return one != nil && !one.off(), s.wrap("read the accounts", err)
}

// SetPassword changes the password of the account of that name.
func (s *session) SetPassword(ctx context.Context, user string, p bmc.NewPassword) error {
	ctx, done := withBudget(ctx, callTime)
	defer done()
	defer s.mayBeTried(user, p.Text)
	_, one, err := s.ownAccount(ctx, user)
	if err == nil {
		err = s.patch(bmc.Asking(ctx, bmc.NameSetPassword(user, p.Mark)), one.path, one.etag, map[string]any{"Password": p.Text}, p.Text)
	}
	return s.wrap("set the password of the account "+printable(user, 80), err)
}

// mayBeTried lets a password be tried at once that the BMC has refused before.
func (s *session) mayBeTried(user, password string) {
	s.endpoint.shared.Denials.Forget(info{username: user, password: password}.credentials())
}

// AddAccount creates an account, or fills one that is free. Some BMCs have a first one that nobody can use (Dell's iDRAC), so the last
// one is taken.
func (s *session) AddAccount(ctx context.Context, user string, p bmc.NewPassword) error {
	ctx, done := withBudget(ctx, callTime)
	defer done()
	defer s.mayBeTried(user, p.Text)
	return s.wrap("create the account "+printable(user, 80), s.addAccount(bmc.Asking(ctx, bmc.NameAddAccount(user)), user, p))
}

func (s *session) addAccount(ctx context.Context, user string, p bmc.NewPassword) error {
	service, err := s.accountService(ctx)
	if err != nil {
		return err
	}
	var free *account
	if _, err := s.accounts(ctx, service, func(a *account) bool {
		if a.User == "" {
			free = a
		}
		return false
	}); err != nil {
		return err
	}
	body := map[string]any{"UserName": user, "Password": p.Text, "RoleId": administrator, "Enabled": true}
	if free != nil {
		return s.patch(ctx, free.path, free.etag, body, p.Text)
	}
	return s.change(ctx, http.MethodPost, string(service.Accounts), "", body, p.Text)
}

// RemoveAccount deletes an account. If the BMC deletes none, because their number is fixed, it empties the account, which Dell's iDRAC wants in
// two requests.
func (s *session) RemoveAccount(ctx context.Context, user string) error {
	ctx, done := withBudget(ctx, callTime)
	defer done()
	return s.wrap("remove the account "+printable(user, 80), s.removeAccount(bmc.Asking(ctx, bmc.NameRemoveAccount(user)), user))
}

func (s *session) removeAccount(ctx context.Context, user string) error {
	_, one, err := s.account(ctx, user)
	if err != nil || one == nil {
		return err
	}
	err = s.change(ctx, http.MethodDelete, one.path, one.etag, nil)
	if err == nil || gone(err) {
		return nil
	}
	if !fault.Is(err, fault.Refused) && !skippable(err) {
		return err
	}
	if err := s.change(ctx, http.MethodPatch, one.path, "", map[string]any{"Enabled": false, "RoleId": "None"}); err != nil {
		return err
	}
	return s.change(ctx, http.MethodPatch, one.path, "", map[string]any{"UserName": ""})
}
