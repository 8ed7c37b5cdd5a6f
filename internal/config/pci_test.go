package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/config"
)

func TestAliasesOfPCIDevices(t *testing.T) {
	got, err := config.PCIAliases{"gpu": "10de:20b0 10DE:20F1", "nic": "8086:1521"}.ByID()
	require.NoError(t, err)
	require.Equal(t, map[string]string{"10de:20b0": "gpu", "10de:20f1": "gpu", "8086:1521": "nic"}, got)
	for words, wrong := range map[string]config.PCIAliases{
		"not VENDOR:PRODUCT":      {"gpu": "10de"},
		"has no device":           {"gpu": " "},
		"a has 10de:20b0 already": {"a": "10de:20b0", "b": "10de:20b0"},
		"no name of a capability": {"gpu:1": "10de:20b0"},
	} {
		_, err := wrong.ByID()
		require.ErrorContains(t, err, words)
	}
}
