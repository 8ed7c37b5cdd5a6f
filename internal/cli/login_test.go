package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const aKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFt ann@work"

func TestALoginIsMadeOfFlags(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	keys := file("keys", "# mine\n"+aKey+"\n\nssh-rsa AAAAB3 bob\n")
	user := file("user", "#cloud-config\n")
	network := file("network", `{"links": [], "networks": []}`)
	for name, c := range map[string]struct {
		l     login
		drive any
		want  any
		err   string
	}{
		"nothing": {drive: "http://drive", want: "http://drive"},
		"all": {
			l: login{sshKeys: []string{keys}, userData: user, hostname: "web", network: network},
			want: map[string]any{
				"meta_data": map[string]any{"public_keys": map[string]any{"key-1": aKey, "key-2": "ssh-rsa AAAAB3 bob"}, "hostname": "web", "name": "web"},
				"user_data": "#cloud-config\n", "network_data": map[string]any{"links": []any{}, "networks": []any{}},
			},
		},
		"added to parts": {
			l: login{hostname: "web"}, drive: map[string]any{"meta_data": map[string]any{"a": "b"}, "user_data": "mine"},
			want: map[string]any{"meta_data": map[string]any{"a": "b", "hostname": "web", "name": "web"}, "user_data": "mine"},
		},
		"added to a URL":   {l: login{hostname: "web"}, drive: "http://drive", err: "add to a config drive of parts"},
		"two user data":    {l: login{userData: user}, drive: map[string]any{"user_data": "mine"}, err: "--user-data: the config drive has user data already"},
		"a private key":    {l: login{sshKeys: []string{file("id", "-----BEGIN OPENSSH PRIVATE KEY-----\n")}}, err: "has a private key: name the file with the public one (.pub)"},
		"no key":           {l: login{sshKeys: []string{file("none", "# nothing\n")}}, err: "has no public key"},
		"something else":   {l: login{sshKeys: []string{user, file("else", "hello world\n")}}, err: "--ssh-key: "},
		"no file":          {l: login{sshKeys: []string{filepath.Join(dir, "gone")}}, err: "no such file"},
		"binary user data": {l: login{userData: file("binary", "\xff\xfe")}, err: "is not text"},
		"a wrong network":  {l: login{network: file("list", "[]")}, err: "--network: "},
		"another network":  {l: login{network: file("netplan", `{"version": 2}`)}, err: `has no list "links"`},
	} {
		t.Run(name, func(t *testing.T) {
			have, err := c.l.drive(c.drive)
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, have)
		})
	}
	for _, nodes := range [][]string{nil, {"n1", "n2"}} {
		require.ErrorContains(t, (&login{hostname: "web"}).check(nodes), "--hostname: name one node")
	}
	require.NoError(t, (&login{hostname: "web"}).check([]string{"n1"}))
}
