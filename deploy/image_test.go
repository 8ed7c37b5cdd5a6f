package deploy_test

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestImageIsStaticAndUnprivileged(t *testing.T) {
	stages := strings.Split(read(t, "Dockerfile"), "\nFROM ")
	last := stages[len(stages)-1]
	require.Contains(t, strings.Join(stages, "\n"), "CGO_ENABLED=0")
	require.Contains(t, last, "\nUSER 65532:65532\n")
	require.NotContains(t, last, "RUN ", "there is nothing in it to run")
}

// The build sees only the folders that .dockerignore admits, so every folder of the program's source must be among them.
func TestBuildContextHasAllThatTheProgramIsMadeOf(t *testing.T) {
	out, err := exec.CommandContext(within(t, time.Minute), "go", "list", "-deps", "-f",
		"{{with .Module}}{{if .Main}}{{$.ImportPath}}{{end}}{{end}}", "../cmd/temper").Output()
	require.NoError(t, err)
	ignore := strings.Split(read(t, "Dockerfile.dockerignore"), "\n")
	packages := strings.Fields(string(out))
	require.NotEmpty(t, packages)
	for _, p := range packages {
		folder, _, _ := strings.Cut(strings.TrimPrefix(p, "go.temper.dev/temper/"), "/")
		require.Contains(t, ignore, "!"+folder, "%s would be missing", p)
	}
	require.Contains(t, ignore, "*", "secrets beside the program must stay out")
}
