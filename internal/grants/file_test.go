package grants

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/access"
)

const lines = `
- {user: alice, role: admin}
- {user: bob, role: member}
- {group: staff, role: reader}
- {group: net, role: member, project: p1}
- {claim: {department: ops, level: "3"}, role: manager, project: p2}
- {user: carol, method: http_basic, role: reader}
`

func open(t *testing.T, text string) (*File, string, *time.Time) {
	t.Helper()
	path, now := filepath.Join(t.TempDir(), "access.yaml"), time.Now()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	f, err := Open(path, func() time.Time { return now }, zap.NewNop())
	require.NoError(t, err)
	return f, path, &now
}

func granted(f *File, id access.Identity) []access.Grant {
	f.Assign(&id)
	return id.Grants
}

func TestTheFileGrantsRolesToUsersGroupsAndClaims(t *testing.T) {
	f, _, _ := open(t, lines)
	system := func(r access.Role) []access.Grant { return []access.Grant{{Role: r}} }
	require.Equal(t, system(access.Admin), granted(f, access.Identity{User: "alice", Method: access.HTTPBasic}))
	require.Equal(t, system(access.Member), granted(f, access.Identity{User: "bob", Method: access.OIDC}))
	require.Equal(t, []access.Grant{{Role: access.Reader}, {Role: access.Member, Project: "p1"}},
		granted(f, access.Identity{User: "dave", Method: access.OIDC, Groups: []string{"net", "staff"}}))
	require.Empty(t, granted(f, access.Identity{User: "eve", Method: access.OIDC}))
	ops := access.Identity{User: "eve", Method: access.OIDC, Claims: map[string]any{"department": []any{"x", "ops"}, "level": 3.0}}
	require.Equal(t, []access.Grant{{Role: access.Manager, Project: "p2"}}, granted(f, ops))
	ops.Claims["level"] = 4.0
	require.Empty(t, granted(f, ops), "all claims must be there")
	require.Empty(t, granted(f, access.Identity{User: "carol", Method: access.OIDC}), "a line may be for one method")
	require.Len(t, granted(f, access.Identity{User: "carol", Method: access.HTTPBasic}), 1)
	require.Empty(t, granted(f, access.Identity{User: "alice", Method: access.Keystone}), "Keystone's roles count as they are")
	require.Empty(t, granted(f, access.Identity{User: "alice", Method: access.Token}), "a token has the roles that it was made with")
}

func TestTheFileIsReadAgainWhenItChanges(t *testing.T) {
	f, path, now := open(t, lines)
	bob := access.Identity{User: "bob", Method: access.HTTPBasic}
	require.Len(t, granted(f, bob), 1)
	change := func(text string) {
		require.NoError(t, os.WriteFile(path+".new", []byte(text), 0o600))
		require.NoError(t, os.Rename(path+".new", path))
		*now = now.Add(2 * lookEvery)
	}
	change("- {user: alice, role: admin}\n")
	require.Empty(t, granted(f, bob))
	change("- {user: bob, role: king}\n")
	require.Len(t, granted(f, access.Identity{User: "alice", Method: access.HTTPBasic}), 1, "the lines before a wrong change stay in force")
	change("")
	require.Len(t, granted(f, access.Identity{User: "alice", Method: access.HTTPBasic}), 1, "so they do while an editor has emptied it")
}

func TestAWrongFileIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"- {role: admin}": "line 1 of the list: it has no user, group or claim",
		"- {user: alice, role: admin}\n- {user: bob}":       `line 2 of the list: role "": want one of admin, manager, member, reader, service`,
		"- {user: alice, rule: admin}":                      "field rule not found",
		"alice: admin":                                      "want a list of lines",
		"- {user: alice, role: admin, method: kerberos}":    `method "kerberos"`,
		"- {user: alice, role: admin, claim: [department]}": "cannot unmarshal",
	} {
		_, err := Parse([]byte(text))
		require.ErrorContains(t, err, want, text)
	}
	_, err := Open(filepath.Join(t.TempDir(), "none"), time.Now, zap.NewNop())
	require.ErrorContains(t, err, "access file")
}
