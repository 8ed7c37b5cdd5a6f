package agent

import (
	"crypto/x509"
	"encoding/pem"
	"net/netip"
	"net/url"
	"strings"

	"go.temper.dev/temper/internal/dial"
	"go.temper.dev/temper/internal/fault"
)

// Limits of a heartbeat's fields, in bytes.
const (
	maxCallbackURL = 2048
	maxCertificate = 64 << 10
	maxShortField  = 255
)

// CallbackPolicy decides which callback URLs are accepted. The zero value is for production.
type CallbackPolicy struct {
	AllowHTTP     bool           // Ironic's [agent]require_tls = False
	AllowLoopback bool           // simulated agents on this machine
	Allow         []netip.Prefix // networks that are allowed although dial.Reach would refuse them
}

// reach decides which addresses agents may have. Agents never advertise link-local ones.
func (p CallbackPolicy) reach() dial.Reach {
	return dial.Reach{Loopback: p.AllowLoopback, Allow: p.Allow, Setting: "agent_allow"}
}

// KnownAgent is what the node's row has of its agent when a heartbeat arrives.
type KnownAgent struct {
	Token    string
	URL      string // "" until the first heartbeat after a boot
	VerifyCA string
}

// CheckHeartbeat checks a heartbeat as Ironic does, with Ironic's texts, and returns
// fault.Invalid (400). After the first heartbeat of an agent another address or certificate
// is refused: two servers must not act as one node.
func (p CallbackPolicy) CheckHeartbeat(h Heartbeat, k KnownAgent) error {
	switch {
	case h.AgentToken == "":
		return fault.New(fault.Invalid, "Agent token is required for heartbeat processing.")
	case !SameToken(k.Token, h.AgentToken):
		return fault.New(fault.Invalid, "Invalid or missing agent token received.")
	case h.AgentVersion == "":
		return fault.New(fault.Invalid, "Field \"agent_version\" is required.")
	case len(h.AgentVersion) > maxShortField || len(h.AgentStatusMessage) > maxLine:
		return fault.New(fault.Invalid, "a field of the heartbeat is too long")
	}
	switch h.AgentStatus {
	case "", "start", "end", "error":
	default:
		return fault.New(fault.Invalid, "Agent status is invalid. Valid states are start,end,error.")
	}
	if k.URL != "" && k.URL != h.CallbackURL {
		return fault.New(fault.Invalid, "Detected change in ramdisk provided \"callback_url\"")
	}
	if err := p.CheckURL(h.CallbackURL); err != nil {
		return err
	}
	return checkCertificate(h.AgentVerifyCA, k.VerifyCA)
}

// CheckURL refuses URLs that no agent has: with other schemes, with credentials or a query,
// and with addresses that dial.Reach refuses.
func (p CallbackPolicy) CheckURL(raw string) error {
	if len(raw) > maxCallbackURL {
		return fault.New(fault.Invalid, "the callback_url is longer than %d bytes", maxCallbackURL)
	}
	u, err := url.Parse(raw)
	if err != nil || u.Hostname() == "" || u.Opaque != "" {
		return fault.New(fault.Invalid, "An issue with the supplied \"callback_url\" has been detected.")
	}
	switch {
	case u.Scheme == "http" && !p.AllowHTTP:
		return fault.New(fault.Invalid, "the callback_url is plain HTTP, and TLS is required of agents")
	case u.Scheme != "https" && u.Scheme != "http":
		return fault.New(fault.Invalid, "An issue with the supplied \"callback_url\" has been detected.")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return fault.New(fault.Invalid, "the callback_url must be a plain address")
	}
	if err := p.reach().CheckHost(u.Hostname()); err != nil { // the client checks the resolved address again
		return fault.New(fault.Invalid, "callback_url: %w", err)
	}
	return nil
}

// checkCertificate checks agent_verify_ca. Agents send it in every heartbeat of a boot, older
// agents in none. A heartbeat without it after one with it is refused like any other change.
func checkCertificate(got, known string) error {
	if got == "" && known == "" {
		return nil
	}
	if known != "" && strings.TrimSpace(known) != strings.TrimSpace(got) {
		return fault.New(fault.Invalid, "Detected change in ramdisk provided \"agent_verify_ca\"")
	}
	_, err := certPool(got)
	return err
}

// certPool returns a pool with the certificates in text only.
func certPool(text string) (*x509.CertPool, error) {
	if len(text) > maxCertificate {
		return nil, fault.New(fault.Invalid, "agent_verify_ca is longer than %d bytes", maxCertificate)
	}
	pool := x509.NewCertPool()
	found := false
	for rest := []byte(text); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return nil, fault.New(fault.Invalid, "agent_verify_ca holds something other than certificates")
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fault.New(fault.Invalid, "agent_verify_ca can't be read: %w", err)
		}
		pool.AddCert(cert)
		found = true
	}
	if !found {
		return nil, fault.New(fault.Invalid, "agent_verify_ca holds no certificate")
	}
	return pool, nil
}
