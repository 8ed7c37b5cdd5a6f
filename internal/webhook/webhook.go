package webhook

import (
	"encoding/base64"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.temper.dev/temper/internal/dial"
	"go.temper.dev/temper/internal/events"
	"go.temper.dev/temper/internal/fault"
)

// Bounds.
const (
	Max            = 50   // webhooks
	MaxDeadLetters = 1000 // of a webhook; older ones are deleted
	maxURL         = 2048 // bytes
	MaxError       = 500  // bytes of an error that is kept
)

// Webhook is an endpoint to which events are sent.
type Webhook struct {
	ID      int64
	Name    string
	URL     string
	Filter  events.Filter
	Enabled bool

	CreatedAt time.Time
	CreatedBy string
	Health
}

// Health says how the deliveries of a webhook go.
type Health struct {
	DeliveredThrough int64      // each event up to this number that the webhook wants was delivered or given up
	Behind           *time.Time // when the oldest event after that happened; nil = there is none
	DeliveredAt      *time.Time // the last success; nil = none yet
	FailingSince     *time.Time // the first failure after it; nil = it does not fail
	Attempts         int        // failed ones since then
	LastError        string     // of the last of them
	Deliveries       int64
	Failures         int64
	DeadLetters      int
	DeadSince        *time.Time // when the first of the dead letters was given up; nil = there are none
}

// DeadLetter is an event that was given up.
type DeadLetter struct {
	Seq       int64
	MessageID string // webhook-id
	Type      string
	Body      string // as it was sent
	At        time.Time
	GivenUpAt time.Time
	Error     string
	Redeliver bool // it is to be sent once more, and was not yet
}

var validName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// validPort reports whether a URL may have the port; "" is the one of its scheme.
func validPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return port == "" || err == nil && n > 0
}

// Check returns fault.Invalid if the webhook is not one that can be delivered to. reach decides which addresses may be named.
func (w *Webhook) Check(reach dial.Reach) error {
	if !validName.MatchString(w.Name) {
		return fault.New(fault.Invalid, "The name of a webhook has at most 63 letters, digits, dots, hyphens and underscores, and begins with a letter or digit.")
	}
	u, err := url.Parse(w.URL)
	switch {
	case len(w.URL) > maxURL:
		return fault.New(fault.Invalid, "The url of webhook %s is longer than %d bytes.", w.Name, maxURL)
	case err != nil || u.Hostname() == "" || u.Opaque != "" || u.Scheme != "https" && u.Scheme != "http":
		return fault.New(fault.Invalid, "The url of webhook %s must be like https://host/path.", w.Name)
	case !validPort(u.Port()):
		return fault.New(fault.Invalid, "The url of webhook %s has the port %s: ports are 1 to 65535.", w.Name, u.Port())
	case u.User != nil:
		return fault.New(fault.Invalid, "The url of webhook %s has a user or password. Check the signature instead, because the url is shown.", w.Name)
	case u.Fragment != "":
		return fault.New(fault.Invalid, "The url of webhook %s has a fragment, which is never sent.", w.Name)
	}
	return reach.CheckHost(u.Hostname())
}

// secretPrefix is what secrets begin with.
const secretPrefix = "whsec_"

// The length of a key in bytes, as Standard Webhooks says.
const (
	leastKey = 24
	mostKey  = 64
)

// CheckSecret returns fault.Invalid if the secret is not one. The error does not quote it.
func CheckSecret(secret string) error {
	_, err := keyOf(secret)
	return err
}

func keyOf(secret string) ([]byte, error) {
	text, ok := strings.CutPrefix(secret, secretPrefix)
	key, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil || len(key) < leastKey || len(key) > mostKey {
		return nil, fault.New(fault.Invalid, "The secret of a webhook is %s and then the base64 of %d to %d random bytes.", secretPrefix, leastKey, mostKey)
	}
	return key, nil
}
