// Package deploy_test checks, as far as that goes without a container engine, that what is in this folder fits the
// program. It never starts a container.
package deploy_test

import (
	"context"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/config"
	"go.temper.dev/temper/internal/testenv"
	"go.temper.dev/temper/test/stack"
)

// roles has the settings of each subcommand that a service may run.
var roles = map[string]func() config.Role{
	"api":          func() config.Role { return &config.API{} },
	"orchestrator": func() config.Role { return &config.Orchestrator{} },
	"conductor":    func() config.Role { return &config.Conductor{} },
	"migrate":      func() config.Role { return &config.Migrate{} },
}

const image = "temper:local"

// passwords are the variables that have no default in docker-compose.yml.
var passwords = []string{
	"TEMPER_POSTGRES_PASSWORD=p@ss/word", "TEMPORAL_POSTGRES_PASSWORD=other", "TEMPORAL_SERVER_POSTGRES_PASSWORD=of the server",
	"TEMPER_MIGRATE_POSTGRES_PASSWORD=secret of migrate",
	"TEMPER_API_POSTGRES_PASSWORD=secret of api", "TEMPER_ORCHESTRATOR_POSTGRES_PASSWORD=secret of orchestrator",
	"TEMPER_CONDUCTOR_POSTGRES_PASSWORD=secret of conductor",
}

// loadCompose reads docker-compose.yml as `docker compose` would with these variables.
func loadCompose(t *testing.T, environ []string) (*types.Project, error) {
	t.Helper()
	return composeFile(t, environ).LoadProject(t.Context())
}

func composeFile(t *testing.T, environ []string, more ...cli.ProjectOptionsFn) *cli.ProjectOptions {
	t.Helper()
	o, err := cli.NewProjectOptions([]string{"../docker-compose.yml"},
		append([]cli.ProjectOptionsFn{cli.WithWorkingDirectory(".."), cli.WithEnv(environ)}, more...)...)
	require.NoError(t, err)
	return o
}

func project(t *testing.T) *types.Project {
	t.Helper()
	p, err := loadCompose(t, passwords)
	require.NoError(t, err)
	return p
}

// ofTemper returns the services that run our own image, by name.
func ofTemper(t *testing.T) map[string]types.ServiceConfig {
	t.Helper()
	found := map[string]types.ServiceConfig{}
	for name, s := range project(t).Services {
		if s.Image == image {
			found[name] = s
		}
	}
	return found
}

// environment returns a service's environment as its process sees it.
func environment(s types.ServiceConfig) []string {
	var environ []string
	for k, v := range s.Environment {
		if v != nil {
			environ = append(environ, k+"="+*v)
		}
	}
	return environ
}

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// temper is the program.
var temper = sync.OnceValues(func() (string, error) { return stack.Temper(context.Background(), "..") })

func TestMain(m *testing.M) { testenv.Main(m) }

func TestEveryRoleIsThereAndThreeConductors(t *testing.T) {
	count := map[string]int{}
	for _, s := range ofTemper(t) {
		require.NotEmpty(t, s.Command)
		count[s.Command[0]]++
	}
	require.Equal(t, map[string]int{"api": 1, "orchestrator": 1, "conductor": 3, "migrate": 1}, count)
}

func TestNothingStartsWithoutAPassword(t *testing.T) {
	for i, missing := range passwords {
		name, _, _ := strings.Cut(missing, "=")
		_, err := loadCompose(t, slices.Delete(slices.Clone(passwords), i, i+1))
		require.ErrorContains(t, err, name)
		require.ErrorContains(t, err, "init.sh")
	}
}

func TestNoPasswordStandsInTheFile(t *testing.T) {
	model, err := composeFile(t, nil, cli.WithInterpolation(false)).LoadModel(t.Context())
	require.NoError(t, err)
	secret := regexp.MustCompile(`PASSWORD|PWD|KEYSET$|TOKEN`)
	seen := 0
	for name, s := range model["services"].(map[string]any) {
		environ, _ := s.(map[string]any)["environment"].(map[string]any)
		for k, v := range environ {
			value, _ := v.(string)
			if secret.MatchString(k) {
				seen++
				require.Regexp(t, `^\$\{[A-Z_]+:\?.+\}$`, value, "%s of %s", k, name)
			}
			if u, err := url.Parse(value); err == nil && u.User != nil {
				_, has := u.User.Password()
				require.False(t, has, "%s of %s", k, name)
			}
		}
	}
	require.Equal(t, 17, seen, "the superuser's twice, four of database-roles, five of Temporal's, migrate and five roles")
}

// Every setting is one that the role has, and the role accepts all of them together.
func TestEveryRoleTakesItsSettings(t *testing.T) {
	dir, _ := initialised(t)
	for name, s := range ofTemper(t) {
		t.Run(name, func(t *testing.T) {
			make, ok := roles[s.Command[0]]
			require.True(t, ok, "unknown role %s", s.Command[0])
			role := make()
			fs := pflag.NewFlagSet(name, pflag.ContinueOnError)
			config.Flags(fs, role)
			require.NoError(t, fs.Parse(s.Command[1:]))
			settings, err := config.Load(role, fs, withFiles(t, s, dir))
			require.NoError(t, err)
			for _, k := range environment(s) {
				variable, _, _ := strings.Cut(k, "=")
				if strings.HasPrefix(variable, "TEMPER_") {
					require.True(t, slices.ContainsFunc(settings, func(f config.Setting) bool {
						return f.Source == "environment "+variable
					}), "%s has no setting %s", s.Command[0], variable)
				}
			}
		})
	}
}

// secretPath is the path of a secret in a container.
var secretPath = regexp.MustCompile(`/run/secrets/([a-z-]+)`)

// withFiles returns a service's environment with the path of every secret replaced by that of the file which init.sh has made in dir.
// The service must have the secret.
func withFiles(t *testing.T, s types.ServiceConfig, dir string) []string {
	t.Helper()
	environ, secrets := environment(s), project(t).Secrets
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	for i, kv := range environ {
		environ[i] = secretPath.ReplaceAllStringFunc(kv, func(path string) string {
			name := secretPath.FindStringSubmatch(path)[1]
			require.True(t, slices.ContainsFunc(s.Secrets, func(c types.ServiceSecretConfig) bool {
				return c.Source == name && c.Target == "" || c.Target == path
			}), "%s names %s, which is not mounted", kv, path)
			of, err := filepath.Rel(root, secrets[name].File)
			require.NoError(t, err)
			require.FileExists(t, filepath.Join(dir, of))
			return filepath.Join(dir, of)
		})
	}
	return environ
}

// What a container runs, and its health check, are commands of the program.
func TestEveryCommandIsOneOfTheProgram(t *testing.T) {
	path, err := temper()
	require.NoError(t, err)
	dockerfile := read(t, "Dockerfile")
	for name, s := range ofTemper(t) {
		commands := [][]string{s.Command}
		if s.HealthCheck != nil && !s.HealthCheck.Disable {
			test := s.HealthCheck.Test
			require.Equal(t, "CMD", test[0], "there is no shell in the image")
			require.Contains(t, dockerfile, `ENTRYPOINT ["`+test[1]+`"]`)
			commands = append(commands, test[2:])
		}
		for _, c := range commands {
			out, err := exec.CommandContext(within(t, time.Minute), path, append(slices.Clone(c), "--help")...).CombinedOutput()
			require.NoError(t, err, "%s: temper %v: %s", name, c, out)
			require.Contains(t, string(out), "temper "+c[0]+" [flags]", name)
		}
	}
}

func TestHealthIsAskedWhereItIsServed(t *testing.T) {
	for name, s := range ofTemper(t) {
		if s.HealthCheck.Disable {
			continue
		}
		listen := s.Environment["TEMPER_METRICS_LISTEN"]
		require.NotNil(t, listen, name)
		_, port, err := net.SplitHostPort(*listen)
		require.NoError(t, err, name)
		require.NotEqual(t, "0", port, name)
	}
}

// Every host in a service's settings is a service on one of its networks, and other services can't reach the databases
// and Temporal.
func TestServicesReachWhomTheyNeed(t *testing.T) {
	p := project(t)
	for _, edge := range [][2]string{
		{"database-roles", "postgres"},
		{"migrate", "postgres"},
		{"api", "postgres"},
		{"api", "temporal"},
		{"orchestrator", "postgres"},
		{"orchestrator", "temporal"},
		{"conductor-1", "postgres"},
		{"conductor-1", "temporal"},
		{"conductor-2", "temporal"},
		{"conductor-3", "temporal"},
		{"temporal-database-role", "temporal-postgres"},
		{"temporal-schema", "temporal-postgres"},
		{"temporal", "temporal-postgres"},
		{"temporal-namespace", "temporal"},
		{"temporal-ui", "temporal"},
	} {
		from, to := p.Services[edge[0]], p.Services[edge[1]]
		require.True(t, share(from, to), "%s can't reach %s", edge[0], edge[1])
		require.True(t, slices.ContainsFunc(environment(from), func(kv string) bool {
			return regexp.MustCompile(`[=@]` + edge[1] + `(:|$)`).MatchString(kv)
		}), "%s does not name %s", edge[0], edge[1])
	}
	for _, name := range []string{"api", "conductor-1", "temporal-ui", "postgres"} {
		require.False(t, share(p.Services[name], p.Services["temporal-postgres"]), name)
	}
	for name, s := range p.Services {
		for n := range s.Networks {
			_, ok := p.Networks[n]
			require.True(t, ok, "%s is on %s, which is not there", name, n)
		}
	}
}

func share(a, b types.ServiceConfig) bool {
	for n := range a.Networks {
		if _, ok := b.Networks[n]; ok {
			return true
		}
	}
	return false
}

func TestOnlyTheAPIAndTheUIArePublishedAndOnLoopback(t *testing.T) {
	p := project(t)
	published := map[string]string{}
	for name, s := range p.Services {
		for _, port := range s.Ports {
			require.Equal(t, "127.0.0.1", port.HostIP, name)
			published[name] = port.Published
		}
		outside := slices.ContainsFunc(slices.Collect(keys(s.Networks)), func(n string) bool { return !bool(p.Networks[n].Internal) })
		require.Equal(t, strings.HasPrefix(name, "conductor") || len(s.Ports) > 0, outside, "%s and the outside", name)
	}
	require.Equal(t, map[string]string{"api": "6385", "temporal-ui": "8080"}, published)
}

func keys[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// Every service starts after those that it needs: after their health check, or after they have ended if they end by themselves.
func TestOrderOfStarting(t *testing.T) {
	p := project(t)
	once := []string{"database-roles", "migrate", "temporal-database-role", "temporal-schema", "temporal-namespace"}
	for name, s := range p.Services {
		for needed, d := range s.DependsOn {
			want := types.ServiceConditionHealthy
			if slices.Contains(once, needed) {
				want = types.ServiceConditionCompletedSuccessfully
			} else {
				require.NotNil(t, p.Services[needed].HealthCheck, "%s waits for the health of %s", name, needed)
			}
			require.Equal(t, want, d.Condition, "%s waits for %s", name, needed)
		}
	}
	for name, s := range ofTemper(t) {
		if name != "migrate" {
			require.Contains(t, s.DependsOn, "migrate", name)
			require.Contains(t, s.DependsOn, "temporal-namespace", name)
		}
	}
}

func TestContainersOfTemperCanDoLittle(t *testing.T) {
	for name, s := range ofTemper(t) {
		require.True(t, s.ReadOnly, name)
		require.Equal(t, []string{"ALL"}, s.CapDrop, name)
		require.Contains(t, s.SecurityOpt, "no-new-privileges:true", name)
		require.Equal(t, "65532:65532", s.User, name)
		grace := s.StopGracePeriod
		require.NotNil(t, grace, name)
		require.Greater(t, time.Duration(*grace), 20*time.Second, "%s is killed within its own grace time", name)
	}
}

func TestMountedFilesAreInTheRepository(t *testing.T) {
	for name, c := range project(t).Configs {
		require.FileExists(t, c.File, name)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	body, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(body)
}
