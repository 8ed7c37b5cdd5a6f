package pgserver

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVersionLine(t *testing.T) {
	for line, want := range map[string]int{
		"postgres (PostgreSQL) 15.16 (Debian 15.16-0+deb12u1)": 15,
		"postgres (PostgreSQL) 18beta1":                        18,
		"postgres (PostgreSQL) 9.6.24":                         9,
		"something else 42":                                    0,
		"":                                                     0,
	} {
		require.Equal(t, want, parseMajor(line), line)
	}
}

func TestFindPrefersPathThenTheNewest(t *testing.T) {
	root := t.TempDir()
	fake := func(version string) string {
		dir := filepath.Join(root, version, "bin")
		require.NoError(t, os.MkdirAll(dir, 0o755))
		script := "#!/bin/sh\necho 'postgres (PostgreSQL) " + version + "'\n"
		require.NoError(t, os.WriteFile(filepath.Join(dir, "postgres"), []byte(script), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "initdb"), nil, 0o755))
		return dir
	}
	fake("14.9")
	inPath := fake("15.3")
	fake("16.1")
	newest := fake("17.2")
	defer func(old []string) { searchPaths = old }(searchPaths)
	searchPaths = []string{filepath.Join(root, "*", "bin")}

	t.Setenv("PATH", inPath)
	b, err := Find()
	require.NoError(t, err)
	require.Equal(t, Bins{Dir: inPath, Major: 15}, b)

	t.Setenv("PATH", filepath.Join(root, "14.9", "bin"))
	b, err = Find()
	require.NoError(t, err)
	require.Equal(t, Bins{Dir: newest, Major: 17}, b, "what is in PATH is too old")

	searchPaths = nil
	_, err = Find()
	require.ErrorIs(t, err, ErrNotFound)
}

func TestInstallKeepsDebianFromMakingACluster(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root installs")
	}
	dir := t.TempDir()
	defer func(old string) { clusterConf = old }(clusterConf)
	clusterConf = filepath.Join(dir, "createcluster.conf")
	seen := filepath.Join(dir, "seen")
	script := "#!/bin/sh\necho \"$*: $(cat " + clusterConf + " 2>/dev/null | tr '\\n' ' ')\" >> " + seen + "\n" +
		"case \"$*\" in *postgresql-common) echo 'ssl = on' > " + clusterConf + ";; *' postgresql') exit ${FAIL:-0};; esac\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "apt-get"), []byte(script), 0o755))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))

	require.NoError(t, Install(t.Context(), io.Discard))
	b, err := os.ReadFile(seen)
	require.NoError(t, err)
	require.Regexp(t, `(?s)^-q update: \n.* postgresql-common: \n.* install postgresql: ssl = on  create_main_cluster = false \n$`, string(b))
	b, err = os.ReadFile(clusterConf)
	require.NoError(t, err)
	require.Equal(t, "ssl = on\n", string(b))

	t.Setenv("FAIL", "100")
	require.ErrorContains(t, Install(t.Context(), io.Discard), "exit status 100")
	b, err = os.ReadFile(clusterConf)
	require.NoError(t, err)
	require.Equal(t, "ssl = on\n", string(b), "put back after a failure too")

	t.Setenv("PATH", t.TempDir())
	require.ErrorIs(t, Install(t.Context(), io.Discard), ErrNotFound)
}

func TestSettingsOfNewClustersArePutBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "createcluster.conf")
	require.NoError(t, os.WriteFile(path, []byte("ssl = on\n"), 0o644))
	restore, err := withoutMainCluster(path)
	require.NoError(t, err)
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(b), "ssl = on\n\ncreate_main_cluster = false\n")
	require.NoError(t, restore())
	b, err = os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "ssl = on\n", string(b))
}
