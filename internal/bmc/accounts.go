package bmc

import (
	"context"
	"crypto/rand"
	"math/big"
	"strings"

	"go.temper.dev/temper/internal/fault"
)

// SpareAccount is the name of a second administrator's account, at which a new password is tried before the node's own account
// gets it. IPMI allows 16 characters.
const SpareAccount = "temper-spare"

// Accounts changes the accounts of a BMC.
type Accounts interface {
	// PasswordRule reads which passwords the BMC takes for the account of this conversation.
	PasswordRule(ctx context.Context) (PasswordRule, error)
	// LogIn logs in with the credentials of this conversation, also if there is a login already. The error is fault.Denied if
	// the BMC refuses them.
	LogIn(ctx context.Context) error
	// HasAccount reports whether the BMC has an enabled account of that name.
	HasAccount(ctx context.Context, user string) (bool, error)
	// SetPassword changes the password of the account of that name.
	SetPassword(ctx context.Context, user string, p NewPassword) error
	// AddAccount creates an administrator's account. The error is fault.Refused if the BMC can't.
	AddAccount(ctx context.Context, user string, p NewPassword) error
	// RemoveAccount removes the account of that name. If there is none, it sends nothing and succeeds.
	RemoveAccount(ctx context.Context, user string) error
}

// NewPassword is a password that an account is to get.
type NewPassword struct {
	Text string
	// Mark tells this password from others in the name of the request, without telling anything of its text.
	Mark string
}

// NameSetPassword is the name of the request to give an account the password with that mark.
func NameSetPassword(user, mark string) string { return "set the password of " + user + " to " + mark }

// NameAddAccount is the name of the request to create an account.
func NameAddAccount(user string) string { return "create the account " + user }

// NameRemoveAccount is the name of the request to remove an account.
func NameRemoveAccount(user string) string { return "remove the account " + user }

// PasswordRule says which passwords a BMC takes.
type PasswordRule struct {
	Min, Max int  // characters; 0 = the BMC does not tell
	IPMI     bool // IPMI has the same account, or the BMC does not tell that it has not
}

// The lengths of new passwords. IPMI 2.0 allows 20 characters, but many BMCs store only 16 of them.
const (
	ipmiLength  = 16
	ipmiMost    = 20
	otherLength = 32
	leastLength = 12 // fewer characters can be guessed
)

// Length returns how many characters a new password has. The error is fault.Invalid if the BMC takes only passwords that are too short.
func (r PasswordRule) Length() (int, error) {
	length := otherLength
	if r.IPMI {
		length = ipmiLength
	}
	length = max(length, r.Min)
	if r.Max > 0 {
		length = min(length, r.Max)
	}
	switch {
	case length < leastLength:
		return 0, fault.New(fault.Invalid, "the BMC takes passwords of at most %d characters; Temper makes none with fewer than %d", r.Max, leastLength)
	case r.IPMI && length > ipmiMost:
		return 0, fault.New(fault.Invalid, "the BMC wants passwords of at least %d characters, and IPMI allows %d", r.Min, ipmiMost)
	}
	return length, nil
}

// passwordClasses are the kinds of characters of which each new password has some. The signs are those that no BMC is known to refuse.
var passwordClasses = []string{"ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz", "0123456789", "-_."}

// MakePassword returns a new random password of that many characters. It begins with a letter and has all classes of characters and
// no character twice in a row, as strict BMCs want it.
func MakePassword(length int) (string, error) {
	for {
		var b strings.Builder
		for range length {
			c, err := pick(strings.Join(passwordClasses, ""))
			if err != nil {
				return "", err
			}
			b.WriteByte(c)
		}
		if strict(b.String()) {
			return b.String(), nil
		}
	}
}

func pick(from string) (byte, error) {
	i, err := rand.Int(rand.Reader, big.NewInt(int64(len(from))))
	if err != nil {
		return 0, fault.New(fault.Internal, "make a password: %w", err)
	}
	return from[i.Int64()], nil
}

func strict(password string) bool {
	for _, class := range passwordClasses {
		if !strings.ContainsAny(password, class) {
			return false
		}
	}
	for i := 1; i < len(password); i++ {
		if password[i] == password[i-1] {
			return false
		}
	}
	return strings.Contains(passwordClasses[0]+passwordClasses[1], password[:1])
}
