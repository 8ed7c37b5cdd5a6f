package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"gopkg.in/yaml.v3"
)

// These tests are about the Temporal of docker-compose.yml. They are here because this is the module that has Temporal's
// server.

func TestDynamicConfigOfComposeIsKnownToTheServer(t *testing.T) {
	t.Parallel()
	body, err := os.ReadFile("../compose/temporal.yaml")
	require.NoError(t, err)
	loaded := dynamicconfig.LoadYamlFile(body)
	require.NoError(t, loaded.Err())
	require.Empty(t, loaded.Warnings)
	for _, key := range []dynamicconfig.Key{
		dynamicconfig.KeepAliveTime.Key(), dynamicconfig.KeepAliveTimeout.Key(), dynamicconfig.KeepAliveMinTime.Key(),
		dynamicconfig.WorkerCommandsEnabled.Key(), dynamicconfig.EnableCancelActivityWorkerCommand.Key(),
		dynamicconfig.EnableCancelWorkerPollsOnShutdown.Key(), dynamicconfig.WorkflowPauseEnabled.Key(),
	} {
		require.Contains(t, loaded.Map, key, "temporal-dev sets it because Temper's promises need it")
	}
}

// The server's image makes its configuration from a template and the environment.
func TestEnvironmentOfComposeIsWhatTheServerReads(t *testing.T) {
	body, err := os.ReadFile("../../docker-compose.yml")
	require.NoError(t, err)
	var compose struct {
		Services map[string]struct{ Environment map[string]string }
	}
	require.NoError(t, yaml.Unmarshal(body, &compose))
	for k, v := range compose.Services["temporal"].Environment {
		t.Setenv(k, v)
	}
	t.Setenv("POSTGRES_PWD", "secret")

	c, err := config.Load(config.WithEmbedded())
	require.NoError(t, err)
	require.EqualValues(t, 512, c.Persistence.NumHistoryShards)
	for store, database := range map[string]string{
		c.Persistence.DefaultStore: "temporal", c.Persistence.VisibilityStore: "temporal_visibility",
	} {
		sql := c.Persistence.DataStores[store].SQL
		require.NotNil(t, sql, store)
		require.Equal(t, "postgres12_pgx", sql.PluginName)
		require.Equal(t, database, sql.DatabaseName)
		require.Equal(t, "temporal-postgres:5432", sql.ConnectAddr)
		require.Equal(t, "temporal_server", sql.User)
		require.Equal(t, "secret", sql.Password)
	}
	require.Equal(t, "127.0.0.1", c.Global.Membership.BroadcastAddress)
	require.Equal(t, "0.0.0.0", c.Services["frontend"].RPC.BindOnIP)
	require.Equal(t, 7233, c.Services["frontend"].RPC.GRPCPort)
	require.Equal(t, "/etc/temper/temporal.yaml", c.DynamicConfigClient.Filepath)
}

// docs/steering.md says what each button of the web UI does to an operation.
func TestNoButtonOfTheWebUIIsSwitchedOff(t *testing.T) {
	t.Parallel()
	body, err := os.ReadFile("../../docker-compose.yml")
	require.NoError(t, err)
	var compose struct {
		Services map[string]struct{ Environment map[string]string }
	}
	require.NoError(t, yaml.Unmarshal(body, &compose))
	require.NotEmpty(t, compose.Services["temporal-ui"].Environment)
	for name := range compose.Services["temporal-ui"].Environment {
		require.NotRegexp(t, "^TEMPORAL_WORKFLOW_.*_DISABLED$", name)
	}
}

func TestNamespaceOfComposeIsThatOfTheDevelopmentServer(t *testing.T) {
	t.Parallel()
	body, err := os.ReadFile("../compose/temporal-namespace.sh")
	require.NoError(t, err)
	for _, a := range searchAttributes {
		require.Regexp(t, `\s`+a.name+"="+a.kind.String()+`\b`, string(body))
	}
	require.Contains(t, string(body), "--retention 72h")
	require.Equal(t, "72h0m0s", retention.String())
}
