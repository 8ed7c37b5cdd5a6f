package config_test

import (
	"encoding/pem"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/config"
)

// load reads settings as a process with these arguments, variables and file would.
func load(t *testing.T, role config.Role, file string, environ []string, args ...string) ([]config.Setting, error) {
	t.Helper()
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	config.Flags(fs, role)
	if file != "" {
		args = append(args, "--config", write(t, "temper.yaml", file))
	}
	require.NoError(t, fs.Parse(args))
	return config.Load(role, fs, environ)
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// needed is what has no default.
func needed() []string {
	return []string{"TEMPER_DATABASE_URL=postgres://temper:hunter2@127.0.0.1:5432/temper", "TEMPER_KEYSET={}"}
}

func value(t *testing.T, settings []config.Setting, key string) config.Setting {
	t.Helper()
	for _, s := range settings {
		if s.Key == key {
			return s
		}
	}
	t.Fatalf("no setting %s", key)
	return config.Setting{}
}

func TestDefaultsAreThoseOfTheContract(t *testing.T) {
	var c config.Conductor
	_, err := load(t, &c, "", needed())
	require.NoError(t, err)
	require.Equal(t, config.Liveness{
		HeartbeatTimeout: 5 * time.Second, ConductorHeartbeatInterval: 3 * time.Second,
		ConductorHeartbeatTimeout: 15 * time.Second, ReconcileInterval: 10 * time.Second, WaitForConductor: 15 * time.Minute, WaitInGroup: config.GroupWaits{},
	}, c.Liveness)
	require.Equal(t, 30*time.Minute, c.DeployCallback)
	require.Equal(t, 30*time.Minute, c.CleanCallback)
	require.Equal(t, 30*time.Minute, c.InspectCallback)
	require.Empty(t, c.Group)
	require.Equal(t, time.Minute, c.SyncPower)
	require.Equal(t, []string{"redfish", "idrac", "ipmi", "fake-hardware"}, c.Drivers)
}

func TestTheNearestSourceWins(t *testing.T) {
	const file = "heartbeat_timeout: 7s\n"
	environ := append(needed(), "TEMPER_HEARTBEAT_TIMEOUT=8s")
	for name, c := range map[string]struct {
		file    string
		environ []string
		args    []string
		want    time.Duration
		source  string
	}{
		"a flag comes before all":              {file, environ, []string{"--heartbeat-timeout", "9s"}, 9 * time.Second, "flag --heartbeat-timeout"},
		"the environment comes before a file":  {file, environ, nil, 8 * time.Second, "environment TEMPER_HEARTBEAT_TIMEOUT"},
		"a file comes before the default":      {file, needed(), nil, 7 * time.Second, "file"},
		"without any of them it's the default": {"", needed(), nil, 5 * time.Second, "default"},
	} {
		t.Run(name, func(t *testing.T) {
			var role config.Conductor
			settings, err := load(t, &role, c.file, c.environ, c.args...)
			require.NoError(t, err)
			require.Equal(t, c.want, role.HeartbeatTimeout)
			require.Contains(t, value(t, settings, "heartbeat_timeout").Source, c.source)
		})
	}
}

func TestTheFileMayBeNamedByTheEnvironment(t *testing.T) {
	var role config.Conductor
	path := write(t, "x.yaml", "conductor_group: rack7\n")
	_, err := load(t, &role, "", append(needed(), "TEMPER_CONFIG="+path))
	require.NoError(t, err)
	require.Equal(t, "rack7", role.Group)
}

func TestValuesAreReadFromEverySource(t *testing.T) {
	for name, c := range map[string]struct {
		file    string
		environ []string
		args    []string
	}{
		"from a file": {file: `
heartbeat_timeout: 20
enabled_drivers: [redfish, ipmi]
database_max_conns: 7
fake: {deploy_delay: 5, clean_delay: "1,2"}
`},
		"from the environment": {environ: []string{
			"TEMPER_HEARTBEAT_TIMEOUT=20", "TEMPER_ENABLED_DRIVERS=redfish, ipmi", "TEMPER_DATABASE_MAX_CONNS=7",
			"TEMPER_FAKE_DEPLOY_DELAY=5", "TEMPER_FAKE_CLEAN_DELAY=1,2",
		}},
		"from flags": {args: []string{
			"--heartbeat-timeout=20s", "--enabled-drivers=redfish,ipmi", "--database-max-conns=7",
			"--fake", "deploy_delay=5", "--fake", `"clean_delay=1,2"`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var role config.Conductor
			_, err := load(t, &role, c.file, append(needed(), c.environ...), c.args...)
			require.NoError(t, err)
			require.Equal(t, 20*time.Second, role.HeartbeatTimeout)
			require.Equal(t, []string{"redfish", "ipmi"}, role.Drivers)
			require.Equal(t, 7, role.MaxConns)
			require.Equal(t, config.Fake{"deploy_delay": "5", "clean_delay": "1,2"}, role.Fake)
		})
	}
}

func TestAnOpenSectionIsPutTogetherFromAllSources(t *testing.T) {
	var role config.Conductor
	_, err := load(t, &role, "fake: {deploy_delay: 5, clean_delay: 6}\n", append(needed(), "TEMPER_FAKE_CLEAN_DELAY=7"))
	require.NoError(t, err)
	require.Equal(t, config.Fake{"deploy_delay": "5", "clean_delay": "7"}, role.Fake)
}

func TestOneFileServesAllRoles(t *testing.T) {
	const file = "conductor_group: rack7\nlisten: 127.0.0.1:1\nrack_servers: 3\n"
	_, err := load(t, &config.API{}, file, needed())
	require.NoError(t, err)
	_, err = load(t, &config.Orchestrator{}, file, needed())
	require.NoError(t, err)
}

func TestAllThatIsWrongIsToldAtOnce(t *testing.T) {
	var role config.Conductor
	_, err := load(t, &role, `
hearbeat_timeout: 5s
heartbeat_timeout: soon
bmc_request_timeout: [1, 2]
enabled_drivers: {a: b}
database_max_conns: 1
conductor_heartbeat_interval: 20s
temporal_tls_cert: /nowhere/cert.pem
log_level: loud
image_allow: 10.0.0.0/8,here
bmc_ca_dir: ca
`, []string{"TEMPER_RECONCILE_INTERVAL=0"})
	require.Error(t, err)
	lines := strings.Split(err.Error(), "\n")
	for _, want := range []string{
		`hearbeat_timeout: no role has a setting of this name`,
		`heartbeat_timeout: "soon" from file`,
		`want a duration such as 5s`,
		`bmc_request_timeout: "[1 2]" from file`,
		`enabled_drivers: "map[a:b]" from file`,
		`database_max_conns: "1" from file`,
		`database_url: "" from default: want postgres://`,
		`keyset_file: "" from default: want a file`,
		`conductor_heartbeat_interval: "20s" from file`,
		`want less than conductor_heartbeat_timeout, which is 15s`,
		`temporal_tls_cert: "/nowhere/cert.pem" from file`,
		`want it together with temporal_tls_key`,
		`log_level: "loud" from file`,
		`reconcile_interval: "0s" from environment TEMPER_RECONCILE_INTERVAL: want more than 0`,
		`image_allow: "10.0.0.0/8,here" from file`,
		`here is not a network`,
		`bmc_ca_dir: "ca" from file`,
	} {
		require.Contains(t, err.Error(), want)
	}
	require.Len(t, lines, 15, "each wrong thing once:\n%s", err)
}

func TestTheBoundsOfAnAnswerOfABMCAreInOrder(t *testing.T) {
	for name, role := range map[string]config.Role{
		"api": &config.API{}, "orchestrator": &config.Orchestrator{}, "conductor": &config.Conductor{},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, role, "bmc_request_timeout: 20s\nbmc_request_timeout_max: 10s\n", needed())
			require.ErrorContains(t, err, "bmc_request_timeout")
			require.ErrorContains(t, err, "want at most bmc_request_timeout_max, which is 10s")
			_, err = load(t, role, "bmc_request_timeout_max: 2m\n", needed())
			require.ErrorContains(t, err, "bmc_request_timeout_max")
			require.ErrorContains(t, err, "want at most 1m0s")
			_, err = load(t, role, "heartbeat_timeout: 2s\nbmc_request_timeout: 10s\nbmc_request_timeout_max: 10s\n", needed())
			require.NoError(t, err, "what a conductor that is cut off has sent is recorded")
		})
	}
}

func TestWhoMayComeIn(t *testing.T) {
	users := write(t, "htpasswd", "admin:$2y$05$abc\n")
	for name, c := range map[string]struct {
		args []string
		want string // "" = accepted
	}{
		"loopback needs nothing":                  {[]string{"--listen=127.0.0.1:0"}, ""},
		"the other loopback too":                  {[]string{"--listen=[::1]:0"}, ""},
		"localhost is loopback":                   {[]string{"--listen=localhost:0"}, ""},
		"everywhere is refused":                   {[]string{"--listen=0.0.0.0:6385"}, "auth.strategy"},
		"an address without a host is everywhere": {[]string{"--listen=:6385"}, "auth.strategy"},
		"everywhere with an explicit noauth":      {[]string{"--listen=:6385", "--auth-strategy=noauth"}, ""},
		"everywhere with users, in the clear":     {[]string{"--listen=:6385", "--auth-strategy=http_basic", "--auth-htpasswd-file=" + users}, "tls_cert"},
		"everywhere with users, as allowed":       {[]string{"--listen=:6385", "--auth-strategy=http_basic", "--auth-htpasswd-file=" + users, "--auth-plain-http"}, ""},
		"everywhere with users and TLS":           {[]string{"--listen=:6385", "--auth-strategy=http_basic", "--auth-htpasswd-file=" + users, "--tls-cert=" + users, "--tls-key=" + users}, ""},
		"users on loopback":                       {[]string{"--auth-strategy=http_basic", "--auth-htpasswd-file=" + users}, ""},
		"a certificate without its key":           {[]string{"--tls-cert=" + users}, "want it together with tls_key"},
		"a certificate that is not there":         {[]string{"--tls-cert=/nowhere", "--tls-key=" + users}, "tls_cert"},
		"users without their file":                {[]string{"--auth-strategy=http_basic"}, "auth.htpasswd_file"},
		"users in a file that is not there":       {[]string{"--auth-strategy=http_basic", "--auth-htpasswd-file=/nowhere"}, "auth.htpasswd_file"},
		"a strategy that nobody has":              {[]string{"--auth-strategy=saml"}, "want http_basic, oidc, keystone or noauth"},
		"one that nobody has, beside another":     {[]string{"--auth-strategy=saml,oidc"}, "want http_basic, oidc, keystone or noauth"},
		"no strategy but commas":                  {[]string{"--auth-strategy=,"}, "want http_basic, oidc, keystone or noauth"},
		"everybody, and users":                    {[]string{"--auth-strategy=http_basic,noauth", "--auth-htpasswd-file=" + users}, "want noauth alone"},
		"users and tokens":                        {[]string{"--auth-strategy=http_basic, keystone", "--auth-htpasswd-file=" + users, "--clouds-file=" + users}, ""},
		"users without their file, and tokens":    {[]string{"--auth-strategy=keystone,http_basic", "--clouds-file=" + users}, "auth.htpasswd_file"},
		"tokens of a cloud without its file":      {[]string{"--auth-strategy=keystone"}, "clouds_file"},
		"tokens everywhere in the clear":          {[]string{"--listen=:6385", "--auth-strategy=keystone", "--clouds-file=" + users}, "tokens would cross the network"},
		"an issuer":                               {[]string{"--auth-strategy=oidc", "--auth-oidc-issuer=https://id.example.org/realms/a", "--auth-oidc-audience=temper"}, ""},
		"an issuer where people log in":           {[]string{"--auth-strategy=oidc", "--auth-oidc-issuer=https://id.example.org", "--auth-oidc-client-id=temper", "--auth-oidc-client-secret-file=" + users}, ""},
		"an issuer on this machine":               {[]string{"--auth-strategy=oidc", "--auth-oidc-issuer=http://127.0.0.1:9998", "--auth-oidc-audience=temper"}, ""},
		"an issuer without TLS":                   {[]string{"--auth-strategy=oidc", "--auth-oidc-issuer=http://id.example.org", "--auth-oidc-audience=temper"}, "auth.oidc_issuer"},
		"no issuer":                               {[]string{"--auth-strategy=oidc", "--auth-oidc-audience=temper"}, "auth.oidc_issuer"},
		"an issuer that is none":                  {[]string{"--auth-strategy=oidc", "--auth-oidc-issuer=id.example.org", "--auth-oidc-audience=temper"}, "auth.oidc_issuer"},
		"tokens for whomever":                     {[]string{"--auth-strategy=oidc", "--auth-oidc-issuer=https://id.example.org"}, "auth.oidc_audience"},
		"a secret of no client":                   {[]string{"--auth-strategy=oidc", "--auth-oidc-issuer=https://id.example.org", "--auth-oidc-audience=temper", "--auth-oidc-client-secret-file=" + users}, "auth.oidc_client_secret_file"},
		"a secret that is not there":              {[]string{"--auth-strategy=oidc", "--auth-oidc-issuer=https://id.example.org", "--auth-oidc-client-id=temper", "--auth-oidc-client-secret-file=/nowhere"}, "auth.oidc_client_secret_file"},
		"authorities that are not there":          {[]string{"--auth-strategy=oidc", "--auth-oidc-issuer=https://id.example.org", "--auth-oidc-client-id=temper", "--auth-oidc-ca=/nowhere"}, "auth.oidc_ca"},
		"a leeway of an hour":                     {[]string{"--auth-strategy=oidc", "--auth-oidc-issuer=https://id.example.org", "--auth-oidc-client-id=temper", "--auth-oidc-leeway=1h"}, "auth.oidc_leeway"},
		"a login that never lasts":                {[]string{"--auth-strategy=oidc", "--auth-oidc-issuer=https://id.example.org", "--auth-oidc-client-id=temper", "--auth-oidc-session=0"}, "auth.oidc_session"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, &config.API{}, "", needed(), c.args...)
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
		})
	}
}

// Who can claim a node over a compute service is as much let in as over the API.
func TestAComputeServiceHasTheGuardOfTheAPI(t *testing.T) {
	users := write(t, "htpasswd", "admin:$2y$05$abc\n")
	for name, c := range map[string]struct {
		args []string
		want string // "" = accepted
	}{
		"loopback needs nothing":                {nil, ""},
		"everywhere is refused":                 {[]string{"--listen=0.0.0.0:7000"}, "compute_listen is 0.0.0.0:7000, which is more than this machine"},
		"everywhere with an explicit noauth":    {[]string{"--listen=:7000", "--auth-strategy=noauth"}, ""},
		"everywhere with users, in the clear":   {[]string{"--listen=:7000", "--auth-strategy=http_basic", "--auth-htpasswd-file=" + users}, "passwords or tokens would cross the network"},
		"everywhere with users, as allowed":     {[]string{"--listen=:7000", "--auth-strategy=http_basic", "--auth-htpasswd-file=" + users, "--auth-plain-http"}, ""},
		"users without their file":              {[]string{"--auth-strategy=http_basic"}, "auth.htpasswd_file"},
		"a strategy that nobody has":            {[]string{"--auth-strategy=saml"}, "want http_basic or noauth"},
		"one that only the API has":             {[]string{"--auth-strategy=keystone"}, "want http_basic or noauth"},
		"one that only the API has, and users":  {[]string{"--auth-strategy=keystone,http_basic", "--auth-htpasswd-file=" + users}, ""},
		"a name that only begins like loopback": {[]string{"--listen=127.0.0.1.nip.io:0"}, "compute_listen"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, &config.Compute{}, "", []string{"TEMPER_API_URL=http://127.0.0.1:1"}, c.args...)
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestSecretsAreMasked(t *testing.T) {
	var role config.Conductor
	settings, err := load(t, &role, "", []string{
		"TEMPER_DATABASE_URL=postgres://temper:hunter2@127.0.0.1:5432/temper?sslmode=disable&password=hunter2", "TEMPER_KEYSET=hunter2",
	})
	require.NoError(t, err)
	require.Equal(t, "postgres://temper:hunter2@127.0.0.1:5432/temper?sslmode=disable&password=hunter2", role.Database.URL)
	require.Equal(t, "postgres://temper:******@127.0.0.1:5432/temper?password=******&sslmode=disable", value(t, settings, "database_url").Value)
	require.Equal(t, config.Masked, value(t, settings, "keyset").Value)
	for _, s := range settings {
		require.NotContains(t, s.Value, "hunter2", s.Key)
	}
}

func TestSecretsAreNotInErrors(t *testing.T) {
	_, err := load(t, &config.Conductor{}, "database_url: [hunter2]\nkeyset: {a: hunter2}\n", nil)
	require.Error(t, err)
	require.NotContains(t, err.Error(), "hunter2")
}

func TestAFileThatCanNotBeReadIsNamed(t *testing.T) {
	_, err := load(t, &config.Conductor{}, "", needed(), "--config", "/nowhere/temper.yaml")
	require.ErrorContains(t, err, "/nowhere/temper.yaml")
	_, err = load(t, &config.Conductor{}, "a: [", needed())
	require.ErrorContains(t, err, "temper.yaml")
}

func TestChecksOfTheCallerJoin(t *testing.T) {
	var role config.Conductor
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	config.Flags(fs, &role)
	_, err := config.Load(&role, fs, []string{"TEMPER_FAKE_X=1"}, func() error {
		return errors.New("fake: " + role.Fake["x"])
	})
	require.ErrorContains(t, err, "database_url")
	require.ErrorContains(t, err, "fake: 1")
}

func TestNetworks(t *testing.T) {
	got, err := config.Networks([]string{"169.254.8.7/24", "10.0.0.1", "fe80::/64", "fd00:ec2::254"})
	require.NoError(t, err)
	require.Equal(t, "[169.254.8.0/24 10.0.0.1/32 fe80::/64 fd00:ec2::254/128]", fmt.Sprint(got))
	for _, s := range []string{"10.0.0.0/33", "localhost", "fe80::1%eth0", "10.0.0", "::ffff:127.0.0.0/104"} {
		_, err := config.Networks([]string{s})
		require.ErrorContains(t, err, s)
	}
}

func TestWhenAStepCountsAsDeadlyIsChecked(t *testing.T) {
	for file, want := range map[string]string{
		"step_death_within: 3s\n":  "want less than step_death_within, which is 3s",
		"step_death_within: 0\n":   "want more than 0",
		"step_death_pause: 11m\n":  "want at most 10m0s",
		"step_death_pause: -1s\n":  "want more than 0",
		"step_death_within: now\n": "want a duration such as",
	} {
		_, err := load(t, &config.Conductor{}, file, needed())
		require.ErrorContains(t, err, want, file)
	}
}

// What operators write into nodes, and the password of the database's user, cross no network in the clear unless a setting says so.
func TestConnectionsLeaveTheMachineWithTLSOnly(t *testing.T) {
	ca := write(t, "ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: httptestCertificate(t)})))
	for name, c := range map[string]struct {
		url, temporal string
		args          []string
		refused       string // "" = accepted
		allowed       []string
	}{
		"loopback":                             {url: "127.0.0.1:5432/t?sslmode=disable"},
		"a socket":                             {url: "/t?host=/run/postgresql"},
		"TLS if the server can":                {url: "db/t", refused: "database_plain"},
		"no TLS":                               {url: "db/t?sslmode=disable", refused: "database_plain"},
		"no TLS, as allowed":                   {url: "db/t?sslmode=disable", args: []string{"--database-plain"}, allowed: []string{"database_plain"}},
		"a second host without":                {url: "127.0.0.1,db/t?sslmode=disable", refused: "database_plain"},
		"TLS":                                  {url: "db/t?sslmode=verify-full&sslrootcert=" + ca},
		"TLS, and the permission is too much":  {url: "db/t?sslmode=verify-full&sslrootcert=" + ca, args: []string{"--database-plain"}},
		"Temporal without TLS":                 {url: "localhost/t", temporal: "temporal:7233", refused: "temporal_plain"},
		"Temporal without TLS, as allowed":     {url: "localhost/t", temporal: "temporal:7233", args: []string{"--temporal-plain"}, allowed: []string{"temporal_plain"}},
		"Temporal with TLS":                    {url: "localhost/t", temporal: "temporal:7233", args: []string{"--temporal-tls-ca=" + ca}},
		"Temporal on this machine without TLS": {url: "localhost/t", temporal: "[::1]:7233"},
	} {
		t.Run(name, func(t *testing.T) {
			role := &config.Orchestrator{}
			environ := []string{"TEMPER_DATABASE_URL=postgres://u:pw@" + c.url}
			if c.temporal != "" {
				environ = append(environ, "TEMPER_TEMPORAL_ADDRESS="+c.temporal)
			}
			_, err := load(t, role, "", environ, c.args...)
			if c.refused != "" {
				require.ErrorContains(t, err, c.refused)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.allowed, config.Allowed(role))
		})
	}
}

// httptestCertificate is the certificate of a server of package httptest.
func httptestCertificate(t *testing.T) []byte {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	return s.Certificate().Raw
}
