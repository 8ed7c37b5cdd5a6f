package config_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/config"
)

func TestStrategies(t *testing.T) {
	for text, want := range map[string][]string{
		"": nil, "noauth": {"noauth"}, "oidc": {"oidc"}, "http_basic, keystone,oidc": {"http_basic", "keystone", "oidc"}, ",": nil,
	} {
		a := config.ListenerAuth{Strategy: text}
		require.Equal(t, want, a.Strategies(), text)
		for _, s := range want {
			require.True(t, a.Uses(s), text)
		}
		require.False(t, a.Uses(""), text)
	}
}

func TestSettingsOfLogins(t *testing.T) {
	users := write(t, "htpasswd", "admin:$2y$05$abc\n")
	role := &config.API{}
	_, err := load(t, role, `
clouds_file: `+users+`
auth:
  strategy: oidc,keystone
  oidc_issuer: https://id.example.org
  oidc_client_id: temper
  keystone_cloud: temper
`, needed(), "--auth-oidc-scopes=groups")
	require.NoError(t, err)
	require.Equal(t, []string{"temper"}, role.Auth.OIDC.Audiences())
	require.Equal(t, []string{"groups"}, role.Auth.OIDC.Scopes)
	require.Equal(t, "groups", role.Auth.OIDC.GroupsClaim)
	require.Equal(t, time.Minute, role.Auth.OIDC.Leeway)
	require.Equal(t, 8*time.Hour, role.Auth.OIDC.Session)
	require.Equal(t, "temper", role.KeystoneCloud())
	require.Equal(t, config.AuthKeystone{Cloud: "temper", ServiceProject: "service", ServiceDomain: "Default"}, role.Auth.Keystone)
	role.Auth.Keystone.Cloud, role.Auth.OIDC.Audience = "", []string{"a", "b"}
	require.Equal(t, "openstack", role.KeystoneCloud())
	require.Equal(t, []string{"a", "b"}, role.Auth.OIDC.Audiences())
}
