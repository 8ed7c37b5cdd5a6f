package machine

import (
	"crypto/subtle"
	"errors"
	"slices"
	"strconv"

	"go.temper.dev/temper/internal/sim/faults"
)

// Account is an account of the BMC. All are administrators.
type Account struct {
	ID       string `json:"id"`
	Username string `json:"username"`
	Password string `json:"password"`
	Enabled  bool   `json:"enabled"`
}

// ownAccount is the id of the account that a new server has.
const ownAccount = "1"

// maxAccounts is how many accounts a BMC has at most.
const maxAccounts = 15

// truncatedTo is how many characters of a password a BMC with the fault TruncatedPassword keeps.
const truncatedTo = 8

// Errors of changing accounts.
var (
	// ErrNoAccount: there is no such account.
	ErrNoAccount = errors.New("no such account")
	// ErrAccountTaken: another account has the user name, or there are as many accounts as the BMC can have.
	ErrAccountTaken = errors.New("the user name is taken, or there is no room for an account")
)

// Accounts returns the accounts, with their passwords.
func (s *Server) Accounts() []Account {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.allAccounts())
}

// allAccounts is Accounts for callers that hold the lock.
func (s *Server) allAccounts() []Account {
	if s.accounts == nil {
		s.accounts = []Account{{ID: ownAccount, Username: s.Hardware.Username, Password: s.Hardware.Password, Enabled: true}}
	}
	return s.accounts
}

// PasswordNow returns the password of the account that a new server has, as it is now.
func (s *Server) PasswordNow() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.passwordNow()
}

func (s *Server) passwordNow() string {
	for _, a := range s.allAccounts() {
		if a.ID == ownAccount {
			return a.Password
		}
	}
	return ""
}

// OnPassword has told called with the password of the server's own account: now, and whenever it changes.
func (s *Server) OnPassword(told func(password string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onPassword = told
	told(s.passwordNow())
}

// AddAccount creates an enabled account.
func (s *Server) AddAccount(username, password string) (Account, error) {
	defer s.changed()
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.allAccounts()
	if len(all) >= maxAccounts || slices.ContainsFunc(all, func(a Account) bool { return a.Username == username }) {
		return Account{}, ErrAccountTaken
	}
	s.nextID++
	a := Account{ID: strconv.Itoa(s.nextID + 1), Username: username, Password: s.kept(password), Enabled: true}
	s.accounts = append(all, a)
	return a, nil
}

// ChangeAccount changes the account with that id.
func (s *Server) ChangeAccount(id string, change func(*Account)) error {
	defer s.changed()
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.allAccounts()
	i := slices.IndexFunc(all, func(a Account) bool { return a.ID == id })
	if i < 0 {
		return ErrNoAccount
	}
	before := all[i].Password
	change(&all[i])
	if all[i].Password != before {
		all[i].Password = s.kept(all[i].Password)
	}
	if id == ownAccount && s.onPassword != nil {
		s.onPassword(all[i].Password)
	}
	return nil
}

// RemoveAccount removes the account with that id, unless it is the server's own.
func (s *Server) RemoveAccount(id string) error {
	defer s.changed()
	s.mu.Lock()
	defer s.mu.Unlock()
	left := slices.DeleteFunc(slices.Clone(s.allAccounts()), func(a Account) bool { return a.ID == id && id != ownAccount })
	if len(left) == len(s.accounts) {
		return ErrNoAccount
	}
	s.accounts = left
	return nil
}

// kept returns what the BMC keeps of a new password.
func (s *Server) kept(password string) string {
	if s.Faults.Active(faults.TruncatedPassword) {
		return password[:min(len(password), truncatedTo)]
	}
	return password
}

// CheckPassword checks user name and password, and counts refusals.
func (s *Server) CheckPassword(user, password string) bool {
	for _, a := range s.Accounts() {
		ok := subtle.ConstantTimeCompare([]byte(user), []byte(a.Username)) & subtle.ConstantTimeCompare([]byte(password), []byte(a.Password))
		if ok == 1 && a.Enabled {
			return true
		}
	}
	s.CountBadLogin()
	return false
}
