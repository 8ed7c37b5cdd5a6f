//go:build linux

package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheTokenOfAMediumIsNoParameter(t *testing.T) {
	dir := t.TempDir()
	_, err := readFolder(dir)
	require.ErrorIs(t, err, fs.ErrNotExist)
	write := func(name, content string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content+strings.Repeat("\n", 1000)), 0o600))
	}
	write(mediumParameters, "ipa-api-url=http://a,http://b\nipa-node-uuid=u\nipa-agent-token=s3cret")
	write(mediumCA, "")
	m, err := readFolder(dir)
	require.NoError(t, err)
	require.Equal(t, &bootMedium{parameters: []string{"ipa-api-url=http://a,http://b", "ipa-node-uuid=u"}, token: "s3cret"}, m)
	require.Equal(t, []string{"--api-url=http://a,http://b", "--node=u"}, agentArguments(m.parameters))

	write(mediumCA, "-----BEGIN CERTIFICATE-----")
	m, err = readFolder(dir)
	require.NoError(t, err)
	require.Equal(t, "-----BEGIN CERTIFICATE-----", string(m.ca))
	require.Contains(t, agentArguments(m.parameters), "--ca-file="+caFile)
}
