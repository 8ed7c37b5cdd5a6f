package agent_test

import (
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/fault"
)

func TestCallbackURLs(t *testing.T) {
	for name, c := range map[string]struct {
		url    string
		policy agent.CallbackPolicy
		ok     bool
	}{
		"https to an address":            {"https://192.0.2.50:9999", agent.CallbackPolicy{}, true},
		"https to an IPv6 address":       {"https://[2001:db8::50]:9999", agent.CallbackPolicy{}, true},
		"https to a name":                {"https://agent.example.org:9999", agent.CallbackPolicy{}, true},
		"a path":                         {"https://192.0.2.50:9999/servers/s1/agent", agent.CallbackPolicy{}, true},
		"plain HTTP":                     {"http://192.0.2.50:9999", agent.CallbackPolicy{}, false},
		"plain HTTP where it is allowed": {"http://192.0.2.50:9999", agent.CallbackPolicy{AllowHTTP: true}, true},
		"loopback":                       {"https://127.0.0.2:9999", agent.CallbackPolicy{}, false},
		"loopback where it is allowed":   {"https://127.0.0.2:9999", agent.CallbackPolicy{AllowLoopback: true}, true},
		"IPv6 loopback":                  {"https://[::1]:9999", agent.CallbackPolicy{}, false},
		"IPv4 loopback in IPv6":          {"https://[::ffff:127.0.0.1]:9999", agent.CallbackPolicy{}, false},
		"localhost":                      {"https://LocalHost.:9999", agent.CallbackPolicy{}, false},
		"below localhost":                {"https://a.localhost:9999", agent.CallbackPolicy{}, false},
		"no address at all":              {"https://0.0.0.0:9999", agent.CallbackPolicy{AllowLoopback: true}, false},
		"a metadata service":             {"https://169.254.169.254/", agent.CallbackPolicy{AllowLoopback: true}, false},
		"link-local":                     {"https://[fe80::1%25eth0]:9999", agent.CallbackPolicy{}, false},
		"multicast":                      {"https://224.0.0.1:9999", agent.CallbackPolicy{}, false},
		"broadcast":                      {"https://255.255.255.255:9999", agent.CallbackPolicy{}, false},
		"broadcast in IPv6":              {"https://[::ffff:255.255.255.255]:9999", agent.CallbackPolicy{}, false},
		"credentials":                    {"https://user:secret@192.0.2.50:9999", agent.CallbackPolicy{}, false},
		"a query":                        {"https://192.0.2.50:9999/?a=b", agent.CallbackPolicy{}, false},
		"another scheme":                 {"ftp://192.0.2.50", agent.CallbackPolicy{AllowHTTP: true}, false},
		"no host":                        {"https://:9999", agent.CallbackPolicy{}, false},
		"no URL":                         {"192.0.2.50:9999", agent.CallbackPolicy{}, false},
		"nothing":                        {"", agent.CallbackPolicy{}, false},
		"a URL without end":              {"https://192.0.2.50/" + strings.Repeat("a", 3000), agent.CallbackPolicy{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.policy.CheckURL(c.url)
			if c.ok {
				require.NoError(t, err)
				return
			}
			require.Equal(t, fault.Invalid, fault.KindOf(err))
			require.NotContains(t, err.Error(), "secret")
		})
	}
}

func TestHeartbeats(t *testing.T) {
	_, ca := newCertificate(t, net.IPv4(192, 0, 2, 50))
	_, other := newCertificate(t, net.IPv4(192, 0, 2, 50))
	good := agent.Heartbeat{CallbackURL: "https://192.0.2.50:9999", AgentToken: token, AgentVersion: "11.5.0", AgentVerifyCA: ca}
	known := agent.KnownAgent{Token: token}
	later := agent.KnownAgent{Token: token, URL: good.CallbackURL, VerifyCA: ca}

	for name, c := range map[string]struct {
		change func(*agent.Heartbeat)
		known  agent.KnownAgent
		want   string // "" = accepted
	}{
		"the first one":                    {func(*agent.Heartbeat) {}, known, ""},
		"the next one":                     {func(*agent.Heartbeat) {}, later, ""},
		"the next one without certificate": {func(h *agent.Heartbeat) { h.AgentVerifyCA = "" }, later, "agent_verify_ca"},
		"a first one without certificate":  {func(h *agent.Heartbeat) { h.AgentVerifyCA = "" }, known, ""},
		"a status":                         {func(h *agent.Heartbeat) { h.AgentStatus = "end" }, known, ""},
		"no token":                         {func(h *agent.Heartbeat) { h.AgentToken = "" }, known, "Agent token is required"},
		"the wrong token":                  {func(h *agent.Heartbeat) { h.AgentToken += "x" }, known, "Invalid or missing agent token"},
		"the mask as token":                {func(h *agent.Heartbeat) { h.AgentToken = agent.Masked }, agent.KnownAgent{Token: agent.Masked}, "Invalid or missing agent token"},
		"a node that has no token":         {func(*agent.Heartbeat) {}, agent.KnownAgent{}, "Invalid or missing agent token"},
		"no version":                       {func(h *agent.Heartbeat) { h.AgentVersion = "" }, known, "agent_version"},
		"a version without end":            {func(h *agent.Heartbeat) { h.AgentVersion = strings.Repeat("1", 999) }, known, "too long"},
		"an unknown status":                {func(h *agent.Heartbeat) { h.AgentStatus = "sleeping" }, known, "Valid states are start,end,error"},
		"another address":                  {func(h *agent.Heartbeat) { h.CallbackURL = "https://192.0.2.51:9999" }, later, "Detected change"},
		"another certificate":              {func(h *agent.Heartbeat) { h.AgentVerifyCA = other }, later, "agent_verify_ca"},
		"a certificate that is none":       {func(h *agent.Heartbeat) { h.AgentVerifyCA = "hello" }, known, "no certificate"},
		"a certificate that can't be read": {func(h *agent.Heartbeat) { h.AgentVerifyCA = decode[agent.Heartbeat](t, "heartbeat.json").AgentVerifyCA }, known, "agent_verify_ca"},
		"a key instead":                    {func(h *agent.Heartbeat) { h.AgentVerifyCA = strings.ReplaceAll(ca, "CERTIFICATE", "PRIVATE KEY") }, known, "other than certificates"},
		"a certificate without end":        {func(h *agent.Heartbeat) { h.AgentVerifyCA = strings.Repeat("x", 70<<10) }, known, "longer than"},
		"plain HTTP":                       {func(h *agent.Heartbeat) { h.CallbackURL = "http://192.0.2.50:9999" }, known, "TLS is required"},
	} {
		t.Run(name, func(t *testing.T) {
			h := good
			c.change(&h)
			err := agent.CallbackPolicy{}.CheckHeartbeat(h, c.known)
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
			require.Equal(t, fault.Invalid, fault.KindOf(err))
			require.NotContains(t, err.Error(), token)
		})
	}
}
