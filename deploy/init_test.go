package deploy_test

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/dotenv"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"
)

// initialised is an empty checkout after init.sh, and a function that runs it once more.
func initialised(t *testing.T) (dir string, again func()) {
	t.Helper()
	dir = t.TempDir()
	path, err := temper()
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "deploy", "compose"), 0o755))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "bin"), 0o755))
	require.NoError(t, os.Symlink(path, filepath.Join(dir, "bin", "temper")))
	script := filepath.Join(dir, "deploy", "compose", "init.sh")
	require.NoError(t, os.WriteFile(script, []byte(read(t, "compose/init.sh")), 0o755))

	// htpasswd is often not installed, so this script answers like htpasswd -niB.
	hash, err := bcrypt.GenerateFromPassword([]byte("secret"), bcrypt.MinCost)
	require.NoError(t, err)
	tools := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(tools, "htpasswd"),
		[]byte(fmt.Sprintf("#!/bin/sh\n[ \"$1\" = -niB ] && [ -n \"$(cat)\" ] && echo \"$2:\"'%s'\n", hash)), 0o755))
	again = func() {
		t.Helper()
		cmd := exec.CommandContext(within(t, time.Minute), script)
		cmd.Env = append(os.Environ(), "PATH="+tools+":"+os.Getenv("PATH"), "TEMPER_API_NAMES=DNS:temper.example")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	again()
	return dir, again
}

func TestInitMakesWhatComposeNeedsAndKeepsIt(t *testing.T) {
	dir, again := initialised(t)
	made := []string{".env", ".temper/compose/keyset.json", ".temper/compose/htpasswd", ".temper/compose/admin-password", ".temper/compose/tls/ca.key", ".temper/compose/tls/api.key", ".temper/compose/tls/postgres.key"}
	before := map[string]string{}
	for _, f := range made {
		info, err := os.Stat(filepath.Join(dir, f))
		require.NoError(t, err)
		require.Zero(t, info.Mode().Perm()&0o077, "others may read %s", f)
		before[f] = read(t, filepath.Join(dir, f))
	}
	again()
	for _, f := range made {
		require.Equal(t, before[f], read(t, filepath.Join(dir, f)), f)
	}
	authorities := x509.NewCertPool()
	require.True(t, authorities.AppendCertsFromPEM([]byte(read(t, filepath.Join(dir, ".temper/compose/tls/ca.pem")))))
	for name, names := range map[string][]string{"postgres": {"postgres"}, "api": {"api", "localhost", "127.0.0.1", "temper.example"}} {
		block, _ := pem.Decode([]byte(read(t, filepath.Join(dir, ".temper/compose/tls", name+".pem"))))
		cert, err := x509.ParseCertificate(block.Bytes)
		require.NoError(t, err)
		for _, n := range names {
			_, err = cert.Verify(x509.VerifyOptions{DNSName: n, Roots: authorities})
			require.NoError(t, err)
		}
	}

	values, err := dotenv.Read(filepath.Join(dir, ".env"))
	require.NoError(t, err)
	environ := make([]string, 0, len(values))
	for k, v := range values {
		environ = append(environ, k+"="+v)
	}
	p, err := loadCompose(t, environ)
	require.NoError(t, err)
	password := p.Services["postgres"].Environment["POSTGRES_PASSWORD"]
	require.Len(t, *password, 48)
	require.NotEqual(t, *password, *p.Services["temporal-postgres"].Environment["POSTGRES_PASSWORD"])
	require.False(t, strings.HasPrefix(p.Services["api"].User, "0:"), "containers run as root")
	require.True(t, strings.HasPrefix(before[".temper/compose/htpasswd"], "admin:$2"))
}
