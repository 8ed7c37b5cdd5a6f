package rbac

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"go.temper.dev/temper/internal/access"
	"go.temper.dev/temper/internal/testenv"
)

// testCase is one row of a table: a request, and what Ironic answers. In Ironic's tests no conductor answers, so that a request that is
// allowed and would change something is answered with 503.
type testCase struct {
	name           string
	Path           string            `yaml:"path"`
	Method         string            `yaml:"method"`
	Headers        map[string]string `yaml:"headers"`
	Body           any               `yaml:"body"`
	Status         int               `yaml:"assert_status"`
	Lengths        map[string]int    `yaml:"assert_list_length"`
	Contains       map[string]any    `yaml:"assert_dict_contains"`
	Skip           string            `yaml:"skip_reason"`
	SelfManage     *bool             `yaml:"self_manage_nodes"`
	Elevated       bool              `yaml:"enable_service_project"`
	ServiceProject string            `yaml:"service_project"`
}

// tables is the folder with the tables. Without them the test is skipped, or fails if TEMPER_TEST_REQUIRE is set.
func tables(t *testing.T) string {
	t.Helper()
	folder := os.Getenv("TEMPER_TEST_RBAC")
	if folder == "" {
		folder = filepath.Join("..", "..", "bin", "rbac")
	}
	if _, err := os.Stat(filepath.Join(folder, "test_rbac_project_scoped.yaml")); err != nil {
		testenv.Missing(t, "Ironic's tables are not there: make rbac fetches them")
	}
	return folder
}

func readTable(t *testing.T, name string) (out []testCase) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(tables(t), name))
	require.NoError(t, err)
	var doc yaml.Node
	require.NoError(t, yaml.Unmarshal(text, &doc))
	rows := doc.Content[0].Content
	for i := 0; i < len(rows); i += 2 {
		c := testCase{name: rows[i].Value, ServiceProject: "service"}
		require.NoError(t, rows[i+1].Decode(&c), c.name)
		if c.Path != "" && c.Skip == "" {
			out = append(out, c)
		}
	}
	return out
}

// verdict is what a status says about a right.
type verdict string

const (
	allowed verdict = "allowed"
	denied  verdict = "denied"
	hidden  verdict = "hidden" // what is asked for does not exist for the client
)

// verdictOf reads a status. 500 is what it answers to a project that asks for something of the system.
func verdictOf(status int) verdict {
	switch status {
	case http.StatusForbidden, http.StatusInternalServerError, http.StatusUnauthorized:
		return denied
	case http.StatusNotFound:
		return hidden
	}
	return allowed
}

// headers is an authenticator that believes the headers that Keystone's middleware gives Ironic.
type headers struct{ serviceProject string }

// Authenticate implements access.Authenticator.
func (h headers) Authenticate(r *http.Request) (*access.Identity, *access.Refusal) {
	roles, project := r.Header.Get("X-Roles"), r.Header.Get("X-Project-Id")
	if roles == "" {
		return nil, nil
	}
	id := &access.Identity{User: r.Header.Get("X-Auth-Token"), Method: access.Keystone}
	for role := range strings.SplitSeq(roles, ",") {
		role := access.Role(strings.TrimSpace(role))
		switch {
		case r.Header.Get("Openstack-System-Scope") == "all":
			id.Grants = append(id.Grants, access.Grant{Role: role})
		case project != "":
			id.Grants = append(id.Grants, access.Grant{Role: role, Project: project})
		}
		if role == access.Service && h.serviceProject != "" && r.Header.Get("X-Project-Name") == h.serviceProject {
			id.Grants = append(id.Grants, access.Grant{Role: access.Member})
		}
	}
	return id, nil
}

// Challenge implements access.Authenticator.
func (headers) Challenge() string { return "" }
