package access

import (
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/node"
)

var update = flag.Bool("update", false, "write the rights into the documentation")

const page = "../../docs/rights.md"

const head = `# The rules

Who may do what, by rule: the least role that suffices. A manager may do what a member may, and an admin what a manager may; the role
service stands apart. "Anywhere" is in the system or in any project. Who may read something sees it in lists: Ironic's rules list_all are not rules of their own here. [security.md](security.md) explains roles and projects. This page is
made from the code.

`

func TestTheRightsStandInTheDocumentation(t *testing.T) {
	want := head + Markdown()
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(want), 0o644))
		return
	}
	b, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Equal(t, want, string(b), "go generate ./internal/access")
}

func TestRolesIncludeThoseBelowThem(t *testing.T) {
	of := node.Owners{Owner: "p", Lessee: "q"}
	as := func(role Role, project string) *Identity {
		return &Identity{Grants: []Grant{{Role: role, Project: project}}}
	}
	for _, role := range []Role{Admin, Manager, Member, Reader} {
		require.True(t, NodeGet.Allows(as(role, "p"), of), role)
		require.True(t, NodeGet.Allows(as(role, "q"), of), role)
		require.False(t, NodeGet.Allows(as(role, "z"), of), role)
		require.False(t, NodeGet.Allows(as(role, "p"), node.Owners{}), "a node without an owner is nobody's")
	}
	require.False(t, NodeGet.Allows(as("gardener", ""), of), "a role that is none")
	require.False(t, NodeSetProvision.Allows(as(Member, "q"), of))
	require.True(t, NodeSetProvision.Allows(as(Manager, "q"), of))
	require.Nil(t, NodeGet.Of(as(Reader, "")), "who reads the system sees all")
	require.Equal(t, &node.View{Owners: []string{"p"}, Lessees: []string{"p"}}, NodeGet.Of(as(Reader, "p")))
	require.Equal(t, &node.View{Owners: []string{"p"}}, NodeGet.Of(as(Service, "p")), "a service of a lessee sees nothing, as in Ironic")
	require.Equal(t, &node.View{}, NodeGet.Of(&Identity{}))
	require.True(t, Covers(as(Admin, ""), []Grant{{Role: Service, Project: "p"}}))
	require.True(t, Covers(as(Member, "p"), []Grant{{Role: Reader, Project: "p"}}))
	require.False(t, Covers(as(Member, "p"), []Grant{{Role: Reader}}))
	require.False(t, Covers(as(Member, "p"), []Grant{{Role: Admin, Project: "p"}}))
}
