package redfish

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/dial"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

func TestAddresses(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"bmc.example.org":                         "https://bmc.example.org",
		"bmc.example.org:8443":                    "https://bmc.example.org:8443",
		"BMC.example.org/":                        "https://bmc.example.org",
		"http://10.0.0.5:8000/bmc/17/":            "http://10.0.0.5:8000/bmc/17",
		"https://10.0.0.5/redfish/v1/":            "https://10.0.0.5",
		"https://10.0.0.5/bmc/redfish/v1":         "https://10.0.0.5/bmc",
		"[fd00::5]":                               "https://[fd00::5]",
		"[fd00::5]:443":                           "https://[fd00::5]:443",
		" https://bmc ":                           "https://bmc",
		"https://bmc.example.org/a%2Fb":           "https://bmc.example.org/a%2Fb",
		"http://127.0.0.1:1/bmc/x/redfish/v1////": "http://127.0.0.1:1/bmc/x",
	} {
		i, err := parseInfo(map[string]any{"redfish_address": given}, here)
		require.NoError(t, err, given)
		require.Equal(t, want, i.address(), given)
	}
}

// here allows the addresses of the tests' BMCs.
var here = bmc.Settings{Reach: dial.Reach{Loopback: true}}

func TestDriverInfoThatIsWrongIsNamedWhole(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		info  map[string]any
		words []string
	}{
		"nothing":                    {nil, []string{"redfish_address is missing"}},
		"an empty address":           {map[string]any{"redfish_address": " "}, []string{"redfish_address is missing"}},
		"a number as address":        {map[string]any{"redfish_address": 5}, []string{"redfish_address is not a string"}},
		"another scheme":             {map[string]any{"redfish_address": "ftp://x"}, []string{"redfish_address must begin with https://"}},
		"no host":                    {map[string]any{"redfish_address": "https:///x"}, []string{"redfish_address is neither"}},
		"a port that is none":        {map[string]any{"redfish_address": "bmc:port"}, []string{"redfish_address is neither"}},
		"a query":                    {map[string]any{"redfish_address": "https://bmc?x=1"}, []string{"query"}},
		"credentials in the address": {map[string]any{"redfish_address": "https://root:s3cret@bmc"}, []string{"credentials"}},
		"a bare system id":           {map[string]any{"redfish_address": "bmc", "redfish_system_id": "1"}, []string{"redfish_system_id", "/redfish/v1/Systems/1"}},
		"a system on another host":   {map[string]any{"redfish_address": "bmc", "redfish_system_id": "//evil/1"}, []string{"redfish_system_id"}},
		"a password alone":           {map[string]any{"redfish_address": "bmc", "redfish_password": "s3cret"}, []string{"without redfish_username"}},
		"a colon in the name":        {map[string]any{"redfish_address": "bmc", "redfish_username": "a:b"}, []string{"redfish_username"}},
		"an unknown way":             {map[string]any{"redfish_address": "bmc", "redfish_auth_type": "kerberos"}, []string{"redfish_auth_type"}},
		"a CA that is not there":     {map[string]any{"redfish_address": "bmc", "redfish_verify_ca": "/nonexistent/ca.pem"}, []string{"redfish_verify_ca", "bmc_ca_dir"}},
		"a metadata service":         {map[string]any{"redfish_address": "http://169.254.169.254"}, []string{"redfish_address: 169.254.169.254 is a link-local address"}},
		"this machine":               {map[string]any{"redfish_address": "localhost:8443"}, []string{"redfish_address: 127.0.0.1 is an address of this machine"}},
		"a CA that is none":          {map[string]any{"redfish_address": "bmc", "redfish_verify_ca": "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----"}, []string{"redfish_verify_ca", "no certificate"}},
		"a number as CA":             {map[string]any{"redfish_address": "bmc", "redfish_verify_ca": 1.0}, []string{"redfish_verify_ca"}},
		"all of it at once": {
			map[string]any{"redfish_address": 1, "redfish_system_id": true, "redfish_password": 3, "redfish_auth_type": "x"},
			[]string{"redfish_address", "redfish_system_id", "redfish_password is not a string", "redfish_auth_type"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := New(Config{}).Validate(c.info)
			require.Equal(t, fault.Invalid, fault.KindOf(err), "%v", err)
			for _, w := range c.words {
				require.ErrorContains(t, err, w)
			}
			require.NotContains(t, err.Error(), "s3cret")
		})
	}
}

func TestWhoSharesASession(t *testing.T) {
	t.Parallel()
	of := func(more map[string]any) info {
		m := map[string]any{"redfish_address": "bmc", "redfish_username": "a", "redfish_password": "b"}
		for k, v := range more {
			m[k] = v
		}
		i, err := parseInfo(m, here)
		require.NoError(t, err)
		return i
	}
	one := of(nil)
	require.Equal(t, one.key(), of(map[string]any{"redfish_address": "https://BMC/"}).key())
	require.Equal(t, one.key(), of(map[string]any{"redfish_system_id": "/redfish/v1/Systems/2"}).key(), "two nodes in one enclosure")
	for name, more := range map[string]map[string]any{
		"another BMC":           {"redfish_address": "bmc2"},
		"another account":       {"redfish_username": "c"},
		"another password":      {"redfish_password": "c"},
		"name and password run": {"redfish_username": "ab", "redfish_password": ""},
		"another way":           {"redfish_auth_type": "basic"},
		"another trust":         {"redfish_verify_ca": false},
	} {
		require.NotEqual(t, one.key(), of(more).key(), name)
	}
	require.Equal(t, one.credentials(), of(map[string]any{"redfish_verify_ca": false}).credentials())
}

func TestOptingOutOfVerificationIsVisible(t *testing.T) {
	t.Parallel()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(ca, testCA(t), 0o600))
	for name, c := range map[string]struct {
		address string
		verify  any
		mode    verifyMode
		words   string
	}{
		"nothing said":    {"bmc", nil, verifySystem, ""},
		"true":            {"bmc", true, verifySystem, ""},
		"the word true":   {"bmc", "True", verifySystem, ""},
		"an empty string": {"bmc", "", verifySystem, ""},
		"false":           {"bmc", false, verifyOff, "redfish_verify_ca is false"},
		"the word false":  {"bmc", "False", verifyOff, "redfish_verify_ca is false"},
		"the word no":     {"bmc", "no", verifyOff, "redfish_verify_ca is false"},
		"a path":          {"bmc", ca, verifyCA, ""},
		"PEM text":        {"bmc", string(testCA(t)), verifyCA, ""},
		"no TLS at all":   {"http://bmc", nil, verifySystem, "http"},
	} {
		t.Run(name, func(t *testing.T) {
			m := map[string]any{"redfish_address": c.address, "redfish_verify_ca": c.verify}
			d := New(Config{Settings: bmc.Settings{CADir: filepath.Dir(ca)}})
			i, err := parseInfo(m, d.conf.Settings)
			require.NoError(t, err)
			require.Equal(t, c.mode, i.verify.mode)
			require.Equal(t, c.mode == verifyOff, i.verify.tlsConfig().InsecureSkipVerify)
			require.Equal(t, c.mode == verifyCA, i.verify.tlsConfig().RootCAs != nil)
			if c.words == "" {
				require.Empty(t, d.Insecure(m))
			} else {
				require.Contains(t, d.Insecure(m), c.words)
			}
		})
	}
}

// A user who may set redfish_verify_ca must not find out from the answers which files
// this machine has.
func TestOnlyFilesOfTheFolderOfCAsAreRead(t *testing.T) {
	t.Parallel()
	outside, dir := t.TempDir(), t.TempDir()
	secret := filepath.Join(outside, "secret.pem")
	require.NoError(t, os.WriteFile(secret, testCA(t), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ca.pem"), testCA(t), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "site"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "site", "b.pem"), testCA(t), 0o600))
	require.NoError(t, os.Symlink(secret, filepath.Join(dir, "out.pem")))
	require.NoError(t, os.Symlink("site/b.pem", filepath.Join(dir, "in.pem")))
	for _, name := range []string{"ca.pem", "site/b.pem", "in.pem", filepath.Join(dir, "ca.pem"), filepath.Join(dir, "site", "..", "ca.pem")} {
		v, err := parseVerify(name, dir)
		require.NoError(t, err, name)
		require.Equal(t, verifyCA, v.mode)
	}
	for _, name := range []string{
		secret, "out.pem", "../" + filepath.Base(outside) + "/secret.pem", "/etc/passwd", "/nonexistent", "nonexistent", "site", dir, outside,
		"ca.pem/x", "site/../../" + filepath.Base(outside) + "/secret.pem", "\x00",
	} {
		_, err := parseVerify(name, dir)
		require.Equal(t, errNoCA, err, "%q", name)
	}
	for _, without := range []string{"", filepath.Join(dir, "nonexistent")} {
		_, err := parseVerify("ca.pem", without)
		require.Equal(t, errNoCA, err)
	}
}

func TestACAThatIsTooLargeIsNotRead(t *testing.T) {
	t.Parallel()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(ca, []byte(strings.Repeat("x", maxCA+1)), 0o600))
	_, err := parseVerify("ca.pem", filepath.Dir(ca))
	require.ErrorContains(t, err, "larger than")
}

func TestTheHardwareTypeDocumentsWhatIsRead(t *testing.T) {
	t.Parallel()
	hw, ok := node.Hardware("redfish")
	require.True(t, ok)
	var documented []string
	for _, p := range hw.Properties {
		documented = append(documented, p.Name)
	}
	require.ElementsMatch(t, []string{propAddress, propSystem, propUsername, propPassword, propVerifyCA, propAuthType, bmc.PropRequestTimeout}, documented)
}

func FuzzAddress(f *testing.F) {
	for _, s := range []string{"bmc", "https://bmc:8443/x", "fd00::1", "http://[::1]:80/redfish/v1", "https://u:p@h", "%zz", "https://a b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		i, err := parseInfo(map[string]any{"redfish_address": s}, here)
		if err != nil {
			require.Equal(t, fault.Invalid, fault.KindOf(err))
			return
		}
		again, err := parseInfo(map[string]any{"redfish_address": i.address()}, here)
		require.NoError(t, err, "%q became %q", s, i.address())
		require.Equal(t, i.address(), again.address())
		require.Nil(t, i.base.User)
	})
}

func FuzzAPathStaysOnItsBMC(f *testing.F) {
	for _, s := range []string{"/redfish/v1/Systems/1", "//evil/x", "http://evil/x", "/bmc/17/redfish/v1", "/a?b=c", "", "x", "/%2e%2e/", "/\\evil"} {
		f.Add(s)
	}
	i, err := parseInfo(map[string]any{"redfish_address": "https://bmc/bmc/17"}, here)
	require.NoError(f, err)
	e := newEndpoint(i, bmc.NewShared(bmc.Settings{MaxPerBMC: 1}.WithDefaults()), Config{}.WithDefaults(), nil)
	f.Fuzz(func(t *testing.T, path string) {
		u, err := e.resolve(path)
		if err != nil {
			require.Equal(t, fault.Unreachable, fault.KindOf(err))
			return
		}
		require.Equal(t, "https", u.Scheme)
		require.Equal(t, "bmc", u.Host)
		require.True(t, strings.HasPrefix(u.EscapedPath(), "/bmc/17/"), u.String())
	})
}

func FuzzAnswersNeverPanic(f *testing.F) {
	for _, s := range []string{
		`{}`, `[]`, `null`, `""`, `{"Boot": 1, "PowerState": [], "Actions": {"#ComputerSystem.Reset": 7}}`,
		`{"error":{"@Message.ExtendedInfo":[{"Message":1}]}}`, `{"error":{"message":"x","@Message.ExtendedInfo":[{"MessageId":"a.b"}]}}`,
		`{"Members":[null,{"@odata.id":5}],"MemorySummary":{"TotalSystemMemoryGiB":"1e999"}}`, `{"TaskState":"Exception","Messages":[{}]}`,
	} {
		f.Add([]byte(s), 400)
	}
	f.Fuzz(func(t *testing.T, body []byte, status int) {
		a := &answer{method: "GET", path: "/x", status: status, body: body}
		if err := a.err(); err != nil {
			require.Less(t, len(err.Error()), 4*(maxMessage+200))
		}
		_, _ = a.taskError(), a.noSession()
		for _, into := range []any{
			new(serviceRoot), new(collection), new(system), new(manager), new(virtualMedia), new(processor),
			new(storage), new(drive), new(simpleStorage), new(ethernetInterface), new(actionInfo),
		} {
			_ = a.decode(into)
		}
	})
}
