package deploy_test

import (
	"bytes"
	"errors"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/dotenv"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"go.temper.dev/temper/internal/config"
)

// kubernetesStack is deploy/metal3 as kubectl apply -k and secrets.sh would create it.
type kubernetesStack struct {
	namespace  string
	objects    []kubernetesObject
	configMaps map[string]map[string]string
	secrets    map[string]map[string]string // the files or values by Secret and key
}

func strict(t *testing.T, path string, into any) {
	t.Helper()
	d := yaml.NewDecoder(strings.NewReader(read(t, path)))
	d.KnownFields(true)
	require.NoError(t, d.Decode(into), path)
}

func metal3(t *testing.T) kubernetesStack {
	t.Helper()
	s := kubernetesStack{configMaps: map[string]map[string]string{}, secrets: madeSecrets(t)}
	var top kustomization
	strict(t, "metal3/kustomization.yaml", &top)
	s.namespace = top.Namespace
	s.generate(t, "metal3", top)
	for _, r := range top.Resources {
		if filepath.Ext(r) == "" {
			var base kustomization
			dir := filepath.Join("metal3", r)
			strict(t, filepath.Join(dir, "kustomization.yaml"), &base)
			s.generate(t, dir, base)
			continue
		}
		d := yaml.NewDecoder(strings.NewReader(read(t, filepath.Join("metal3", r))))
		d.KnownFields(true)
		for {
			var o kubernetesObject
			err := d.Decode(&o)
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err, r)
			s.objects = append(s.objects, o)
		}
	}
	return s
}

func (s kubernetesStack) generate(t *testing.T, dir string, k kustomization) {
	t.Helper()
	require.True(t, k.GeneratorOptions.DisableNameSuffixHash, "%s: the other files name its ConfigMaps", dir)
	for _, g := range k.ConfigMapGenerator {
		data := map[string]string{}
		for _, f := range g.Files {
			data[f] = read(t, filepath.Join(dir, f))
		}
		for _, f := range g.Envs {
			values, err := dotenv.Parse(strings.NewReader(read(t, filepath.Join(dir, f))))
			require.NoError(t, err)
			for k, v := range values {
				data[k] = v
			}
		}
		s.configMaps[g.Name] = data
	}
}

// madeSecrets returns what secrets.sh passes to kubectl, which stands here for a script that records it.
func madeSecrets(t *testing.T) map[string]map[string]string {
	t.Helper()
	dir, _ := initialised(t)
	tools := t.TempDir()
	log := filepath.Join(tools, "log")
	require.NoError(t, os.WriteFile(filepath.Join(tools, "kubectl"), []byte("#!/bin/sh\n[ \"$1\" = create ] && echo \"$*\" >>"+log+" || cat >/dev/null\n"), 0o755))
	script := filepath.Join(dir, "deploy", "metal3", "secrets.sh")
	require.NoError(t, os.MkdirAll(filepath.Dir(script), 0o755))
	require.NoError(t, os.WriteFile(script, []byte(read(t, "metal3/secrets.sh")), 0o755))
	require.NoError(t, os.Remove(filepath.Join(dir, ".temper/compose/tls/api.pem"))) // so that the script makes one with its own names
	cmd := exec.CommandContext(within(t, time.Minute), script)
	cmd.Env = append(os.Environ(), "PATH="+tools+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	made := map[string]map[string]string{}
	for _, line := range strings.Split(strings.TrimSpace(read(t, log)), "\n") {
		words := strings.Fields(line)
		require.Equal(t, "create secret generic", strings.Join(words[:3], " "))
		require.Contains(t, line, "-n baremetal-operator-system ")
		data := map[string]string{}
		for _, w := range words[4:] {
			switch parts := strings.SplitN(w, "=", 3); parts[0] {
			case "--from-env-file":
				values, err := dotenv.Read(filepath.Join(dir, parts[1]))
				require.NoError(t, err)
				for k, v := range values {
					data[k] = v
				}
			case "--from-file":
				require.FileExists(t, filepath.Join(dir, parts[2]))
				data[parts[1]] = filepath.Join(dir, parts[2])
			case "--from-literal":
				data[parts[1]] = parts[2]
			}
		}
		made[words[3]] = data
	}
	return made
}

// pods returns the pods by the name of what makes them.
func (s kubernetesStack) pods() map[string]kubernetesPod {
	found := map[string]kubernetesPod{}
	for _, o := range s.objects {
		if len(o.Spec.Template.Spec.Containers) > 0 {
			found[o.Metadata.Name] = o.Spec.Template
		}
	}
	return found
}

func (p kubernetesPod) all() []kubernetesContainer {
	return append(slices.Clone(p.Spec.InitContainers), p.Spec.Containers...)
}

// environ returns a container's environment, every reference resolved.
func (s kubernetesStack) environ(t *testing.T, c kubernetesContainer) map[string]string {
	t.Helper()
	env := map[string]string{}
	for _, from := range c.EnvFrom {
		require.Contains(t, s.configMaps, from.ConfigMapRef.Name, c.Name)
		for k, v := range s.configMaps[from.ConfigMapRef.Name] {
			env[k] = v
		}
	}
	for _, e := range c.Env {
		env[e.Name] = e.Value
		if ref := e.ValueFrom.SecretKeyRef; ref.Name != "" {
			require.Contains(t, s.secrets[ref.Name], ref.Key, "%s of %s", e.Name, c.Name)
			env[e.Name] = s.secrets[ref.Name][ref.Key]
		}
		if ref := e.ValueFrom.ConfigMapKeyRef; ref.Name != "" {
			require.Contains(t, s.configMaps[ref.Name], ref.Key, "%s of %s", e.Name, c.Name)
			env[e.Name] = s.configMaps[ref.Name][ref.Key]
		}
		if field := e.ValueFrom.FieldRef.FieldPath; field != "" {
			require.Equal(t, "metadata.name", field)
			env[e.Name] = "pod-0"
		}
	}
	return env
}

func TestMetal3HasEveryRoleAndTakesItsSettings(t *testing.T) {
	s := metal3(t)
	all := map[string]func() config.Role{"boot": func() config.Role { return &config.NetworkBoot{} }}
	for role, make := range roles {
		all[role] = make
	}
	path, err := temper()
	require.NoError(t, err)
	iso := filepath.Join(t.TempDir(), "temper-ramdisk.iso")
	require.NoError(t, os.WriteFile(iso, nil, 0o600))
	seen := map[string]bool{}
	for name, p := range s.pods() {
		for _, c := range p.all() {
			if c.Image != "temper" {
				continue
			}
			require.Empty(t, c.Command, "the image's own entry point")
			seen[c.Args[0]] = true
			require.Contains(t, all, c.Args[0], name)
			out, err := exec.CommandContext(within(t, time.Minute), path, append(slices.Clone(c.Args), "--help")...).CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.Contains(t, string(out), "temper "+c.Args[0]+" [flags]")

			role := all[c.Args[0]]()
			fs := pflag.NewFlagSet(name, pflag.ContinueOnError)
			config.Flags(fs, role)
			require.NoError(t, fs.Parse(c.Args[1:]))
			mounted := s.mounted(t, p, c)
			var environ []string
			for k, v := range s.environ(t, c) {
				v = secretPath.ReplaceAllStringFunc(v, func(at string) string {
					require.Contains(t, mounted, at, "%s of %s", k, name)
					return mounted[at]
				})
				environ = append(environ, k+"="+strings.Replace(v, "/var/lib/temper/temper-ramdisk.iso", iso, 1))
			}
			settings, err := config.Load(role, fs, environ)
			require.NoError(t, err, name)
			for _, kv := range environ {
				variable, _, _ := strings.Cut(kv, "=")
				if strings.HasPrefix(variable, "TEMPER_") {
					require.True(t, slices.ContainsFunc(settings, func(f config.Setting) bool { return f.Source == "environment "+variable }),
						"temper %s has no setting %s", c.Args[0], variable)
				}
			}
		}
	}
	require.Equal(t, map[string]bool{"api": true, "orchestrator": true, "conductor": true, "boot": true, "migrate": true}, seen)
}

// mounted returns the files by their paths in the container.
func (s kubernetesStack) mounted(t *testing.T, p kubernetesPod, c kubernetesContainer) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, m := range c.VolumeMounts {
		for _, v := range p.Spec.Volumes {
			if v.Name != m.Name {
				continue
			}
			for _, src := range v.Projected.Sources {
				require.Contains(t, s.secrets, src.Secret.Name)
				for k, at := range s.secrets[src.Secret.Name] {
					files[m.MountPath+"/"+k] = at
				}
			}
			if name := v.Secret.SecretName; name != "" && !v.Secret.Optional {
				require.Contains(t, s.secrets, name)
				for k, at := range s.secrets[name] {
					files[m.MountPath+"/"+k] = at
				}
			}
			if name := v.ConfigMap.Name; name != "" {
				require.Contains(t, s.configMaps, name)
				for k := range s.configMaps[name] {
					files[m.MountPath+"/"+k] = k
				}
			}
		}
	}
	return files
}

// Every volume, file, Service and port that something names is there.
func TestMetal3NamesOnlyWhatIsThere(t *testing.T) {
	s := metal3(t)
	services := map[string]map[int]bool{}
	for _, o := range s.objects {
		if o.Kind == "StatefulSet" {
			require.True(t, slices.ContainsFunc(s.objects, func(of kubernetesObject) bool { return of.Kind == "Service" && of.Metadata.Name == o.Spec.ServiceName }))
		}
		if o.Kind != "Service" {
			continue
		}
		services[o.Metadata.Name] = map[int]bool{}
		app := o.Spec.Selector.(map[string]any)["app"]
		for _, port := range o.Spec.Ports {
			services[o.Metadata.Name][port.Port] = true
			require.True(t, slices.ContainsFunc(s.objects, func(of kubernetesObject) bool {
				return of.Spec.Template.Metadata.Labels["app"] == app && slices.ContainsFunc(of.Spec.Template.Spec.Containers, func(c kubernetesContainer) bool {
					return slices.ContainsFunc(c.Ports, func(p kubernetesPort) bool { return p.Name == port.TargetPort && p.ContainerPort == port.Port })
				})
			}), "nothing listens for the Service %s", o.Metadata.Name)
		}
	}
	inside := regexp.MustCompile(`^(?:postgres://temper_\w+@)?(postgres|temporal|temporal-postgres)(?::(\d+))?(?:/temper\?.*)?$`)
	of := map[string]string{}
	for name, p := range s.pods() {
		for _, c := range p.all() {
			for k, v := range s.environ(t, c) {
				if m := inside.FindStringSubmatch(v); m != nil {
					require.Contains(t, services, m[1], "%s of %s", k, name)
					of[name] += m[1] + " "
				}
			}
			files := s.mounted(t, p, c)
			for _, word := range c.Command {
				if strings.HasPrefix(word, "/etc/") {
					require.Contains(t, files, word, name)
				}
			}
			for _, m := range c.VolumeMounts {
				claimed := slices.ContainsFunc(s.objects, func(o kubernetesObject) bool {
					return o.Metadata.Name == name && len(o.Spec.VolumeClaimTemplates) == 1 && o.Spec.VolumeClaimTemplates[0].Metadata.Name == m.Name
				})
				require.True(t, claimed || slices.Contains(volumeNames(p), m.Name), "%s of %s mounts %s", c.Name, name, m.Name)
			}
		}
	}
	for name, hosts := range map[string]string{"temper-api": "postgres", "temper-boot": "postgres", "temper-conductor": "temporal", "temporal": "temporal-postgres"} {
		require.Contains(t, of[name], hosts, name)
	}
	require.Contains(t, services["temporal"], 7233)
}

func volumeNames(p kubernetesPod) []string {
	var names []string
	for _, v := range p.Spec.Volumes {
		names = append(names, v.Name)
	}
	return names
}

// Kubernetes sets variables such as TEMPER_PORT for Services, unless a pod refuses them. Only temper boot is in the host's network and
// root, with two capabilities.
func TestMetal3PodsCanDoLittle(t *testing.T) {
	for name, p := range metal3(t).pods() {
		require.NotNil(t, p.Spec.EnableServiceLinks, name)
		require.False(t, *p.Spec.EnableServiceLinks, name)
		require.NotNil(t, p.Spec.AutomountToken, name)
		require.False(t, *p.Spec.AutomountToken, name)
		require.Equal(t, map[string]string{"temper.dev/provisioning": "true"}, p.Spec.NodeSelector, name)
		boot := name == "temper-boot"
		require.Equal(t, boot, p.Spec.HostNetwork, name)
		require.Equal(t, boot, p.Spec.DNSPolicy == "ClusterFirstWithHostNet", "%s finds the Services", name)
		for _, c := range p.all() {
			if c.Image != "temper" {
				continue
			}
			require.Greater(t, p.Spec.GraceSeconds, 20, name)
			require.Equal(t, !boot, p.Spec.SecurityContext.RunAsNonRoot, name)
			require.True(t, c.SecurityContext.ReadOnly, name)
			require.False(t, *c.SecurityContext.AllowEscalation, name)
			require.Equal(t, []string{"ALL"}, c.SecurityContext.Capabilities.Drop, name)
			if boot {
				require.Equal(t, []string{"NET_BIND_SERVICE", "NET_RAW"}, c.SecurityContext.Capabilities.Add)
			} else {
				require.Empty(t, c.SecurityContext.Capabilities.Add, name)
			}
		}
	}
}

// baremetal-operator reaches the API by a name that is in its certificate, and its servers the files that `make ramdisk` makes.
func TestMetal3EnvironmentOfBaremetalOperator(t *testing.T) {
	s := metal3(t)
	env := s.configMaps["ironic"]
	require.Equal(t, []string{"DEPLOY_KERNEL_URL", "DEPLOY_RAMDISK_URL", "IRONIC_CACERT_FILE", "IRONIC_ENDPOINT"}, slices.Sorted(keys(env)))
	at, err := url.Parse(env["IRONIC_ENDPOINT"])
	require.NoError(t, err)
	require.Equal(t, "temper."+s.namespace+".svc:6385", at.Host)
	out, err := exec.CommandContext(within(t, time.Minute), "openssl", "x509", "-in", s.secrets["temper-api"]["api-cert"], "-noout", "-checkhost", at.Hostname()).CombinedOutput()
	require.NoError(t, err)
	require.Contains(t, string(bytes.TrimSpace(out)), "does match certificate")
	require.Equal(t, "/opt/metal3/certs/ca/"+slices.Collect(keys(s.secrets["ironic-cacert"]))[0], env["IRONIC_CACERT_FILE"])
	require.Equal(t, []string{"password", "username"}, slices.Sorted(keys(s.secrets["ironic-credentials"])))
	boot := s.configMaps["temper-boot"]
	for variable, file := range map[string]string{"DEPLOY_KERNEL_URL": "vmlinuz", "DEPLOY_RAMDISK_URL": "initrd"} {
		require.Equal(t, "http://"+boot["HTTPD_LISTEN"]+"/"+file, env[variable])
	}
	for _, variable := range []string{"TEMPER_MEDIA_URL", "TEMPER_AGENT_URL"} {
		require.Equal(t, "http://"+boot["TEMPER_BOOT_LISTEN"], s.configMaps["temper"][variable])
	}
}
