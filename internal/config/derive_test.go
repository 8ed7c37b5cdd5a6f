package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/config"
)

func TestDerivedSettingsWin(t *testing.T) {
	base := write(t, "base.yaml", "heartbeat_timeout: 9s\nfake: {deploy_delay: 3}\ndatabase_url: postgres://other/x\n")
	over := map[string]any{"database_url": "postgres://temper:pw@127.0.0.1/temper", "keyset": "{}"}
	body, err := config.Derive(base, over)
	require.NoError(t, err)

	var role config.Conductor
	environ := config.Without([]string{
		"TEMPER_DATABASE_URL=postgres://third/x", "TEMPER_CONFIG=/nowhere", "TEMPER_CONDUCTOR_GROUP=g",
	}, over)
	_, err = load(t, &role, string(body), environ)
	require.NoError(t, err)
	require.Equal(t, "postgres://temper:pw@127.0.0.1/temper", role.Database.URL, "what was derived comes before the environment")
	require.Equal(t, "9s", role.HeartbeatTimeout.String(), "the file's other settings stay")
	require.Equal(t, config.Fake{"deploy_delay": "3"}, role.Fake)
	require.Equal(t, "g", role.Group, "other variables stay")
}
