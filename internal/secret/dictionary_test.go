package secret_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/mask"
	"go.temper.dev/temper/internal/secret"
)

func TestSecretKeys(t *testing.T) {
	for _, k := range []string{
		"redfish_password", "ipmi_password", "Password", "adminPass", "rescue_password", "hashed_rescue_password", "image_pull_secret", "agent_secret_token",
		"X-Auth-Token", "configdrive", "snmp_auth_key", "private_key", "ssh_key_contents", "image_request_authorization", "CHAPPASSWORD", "image_url", "ipmi_hex_kg_key",
	} {
		require.True(t, mask.IsSecretKey(k), k)
	}
	for _, k := range []string{
		"redfish_address", "redfish_username", "redfish_verify_ca", "image_source", "image_checksum", "image_os_hash_value", "deploy_kernel", "root_gb", "capabilities", "",
	} {
		require.False(t, mask.IsSecretKey(k), k)
	}
}

func dict(t *testing.T, text string) map[string]any {
	t.Helper()
	var m map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &m))
	return m
}

func TestMask(t *testing.T) {
	m := dict(t, `{"redfish_password":"p1","a/b~c":{"token":7,"on_token":true},"empty_password":"","none_secret":null,
		"configdrive":{"user_data":"x"},"users":[{"name":"u","password":"p2"},{"name":"v"}],"settings":[{"name":"AdminPassword","value":"p3"}],"plain":[1,"x"]}`)
	shown, secrets := secret.Mask(m)
	require.Equal(t, dict(t, `{"redfish_password":"******","a/b~c":{"token":"******","on_token":true},"empty_password":"","none_secret":null,
		"configdrive":"******","users":[{"name":"u","password":"******"},{"name":"v"}],"settings":[{"name":"AdminPassword","value":"******"}],"plain":[1,"x"]}`), shown)
	require.Equal(t, map[string]any{
		"/redfish_password": "p1", "/a~1b~0c/token": 7.0, "/configdrive": map[string]any{"user_data": "x"},
		"/users": m["users"], "/settings": m["settings"],
	}, secrets)
	require.Equal(t, m, secret.Unmask(shown, secrets))
	require.Equal(t, "p1", m["redfish_password"], "the argument was changed")
}

func TestWhatIsTooDeepIsMaskedWhole(t *testing.T) {
	text := strings.Repeat(`{"a":`, 40) + `"x"` + strings.Repeat("}", 40)
	shown, secrets := secret.Mask(dict(t, text))
	require.Len(t, secrets, 1)
	require.Equal(t, dict(t, text), secret.Unmask(shown, secrets))
}

func TestASecretThatWasShownMaskedStays(t *testing.T) {
	_, known := secret.Mask(dict(t, `{"password":"p1","sub":{"token":"t1"},"users":[{"password":"u1"},{"password":"u2"}]}`))
	for name, c := range map[string]struct{ edited, want string }{
		"untouched": {
			`{"password":"******","sub":{"token":"******"},"users":[{"password":"******"},{"password":"******"}]}`,
			`{"password":"p1","sub":{"token":"t1"},"users":[{"password":"u1"},{"password":"u2"}]}`,
		},
		"one given anew":           {`{"password":"new","sub":{"token":"******"}}`, `{"password":"new","sub":{"token":"t1"}}`},
		"removed":                  {`{"plain":1}`, `{"plain":1}`},
		"a list given anew, whole": {`{"users":[{"password":"u3"}]}`, `{"users":[{"password":"u3"}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			shown, secrets, err := secret.Remask(dict(t, c.edited), known)
			require.NoError(t, err)
			require.Equal(t, dict(t, c.want), secret.Unmask(shown, secrets))
		})
	}
	for name, edited := range map[string]string{
		"a list that lost an element can't be matched": `{"users":[{"password":"******"}]}`,
		"a list with one of them new":                  `{"users":[{"password":"******"},{"password":"u3"}]}`,
		"a mask where no secret was":                   `{"other_password":"******"}`,
		"a mask inside of what is secret as a whole":   `{"configdrive":{"user_data":"******"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := secret.Remask(dict(t, edited), known)
			require.Equal(t, fault.Invalid, fault.KindOf(err))
		})
	}
}

func FuzzMask(f *testing.F) {
	f.Add(`{"password":"p","a":[{"token":["x"]},7],"settings":[{"name":"secret","value":{}}]}`)
	f.Add(`{"a":[[[{"secret":"~"}]]],"/":{"~":{"token":1}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		var m map[string]any
		if json.Unmarshal([]byte(text), &m) != nil || m == nil {
			return
		}
		shown, secrets := secret.Mask(m)
		require.Equal(t, m, secret.Unmask(shown, secrets))
		noSecret(t, shown, false)
		same, again, err := secret.Remask(shown, secrets)
		if err == nil { // a client's own "******" is refused
			require.Equal(t, shown, same)
			require.Equal(t, secrets, again)
		}
	})
}

// noSecret walks what is shown: under a hidden key stands nothing but Masked.
func noSecret(t *testing.T, v any, hidden bool) {
	switch v := v.(type) {
	case map[string]any:
		require.False(t, hidden)
		for k, e := range v {
			noSecret(t, e, mask.IsSecretKey(k))
		}
	case []any:
		require.False(t, hidden)
		for _, e := range v {
			noSecret(t, e, false)
		}
	case string:
		require.True(t, !hidden || v == mask.Masked || v == "")
	case float64:
		require.False(t, hidden)
	}
}
