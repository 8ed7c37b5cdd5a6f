package mask_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/mask"
)

func TestURLs(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "",
		"nothing = to see: here":       "nothing = to see: here",
		"http://h/p":                   "http://h/p",
		"http://h:80/p?a":              "http://h:80/p?******",
		"http://u:SECRET@h:80/p":       "http://******@h:80/p",
		"http://SECRET@h/p":            "http://******@h/p",
		"http://u:SE@CRET@h/p":         "http://******@h/p",
		"http://u:SE/CRET@h/p":         "http://******@h/p",
		"http://[fd00::1]:80/@scope/p": "http://[fd00::1]:80/@scope/p",
		"http://h/p?X-Amz-Expires=9&X-Amz-Signature=SECRET":       "http://h/p?X-Amz-Expires=******&X-Amz-Signature=******",
		"http://h/p?sig=SECRET#SECRET":                            "http://h/p?sig=******#******",
		`Get "http://u:SECRET@h/p?sig=SECRET": dial tcp: refused`: `Get "http://******@h/p?sig=******": dial tcp: refused`,
		"from http://h/p?sig=SECRET: the server answered 404":     "from http://h/p?sig=******: the server answered 404",
		"(see https://u:SECRET@h/).":                              "(see https://******@h/).",
		`{"image":"http://h/p?a=SECRET\u0026b=SECRET","x":1}`:     `{"image":"http://h/p?a=******","x":1}`,
		`\"http://h/?sig=SECRET\" and more`:                       `\"http://h/?sig=******\" and more`,
		"two http://a:SECRET@h and https://h/?t=SECRET here":      "two http://******@h and https://h/?t=****** here",
		"redirected to /p?expires=1&sig=SECRET":                   "redirected to /p?expires=1&sig=******",
		"AWSAccessKeyId=SECRET&Signature=SECRET":                  "AWSAccessKeyId=******&Signature=******",
		"/v1/commands/?wait=true&agent_token=SECRET":              "/v1/commands/?wait=true&agent_token=******",
		"postgres://temper:SECRET@db:5432/temper?sslmode=require": "postgres://******@db:5432/temper?sslmode=******",
		"https://h/redfish/v1?$expand=*":                          "https://h/redfish/v1?$expand=******",
	} {
		got := mask.URLs(text)
		require.Equal(t, want, got)
		require.Equal(t, got, mask.URLs(got), "again")
	}
}

func TestDictionaries(t *testing.T) {
	in := map[string]any{"a": "http://u:SECRET@h/", "b": []any{map[string]any{"c": "http://h/?x=SECRET"}, 7.0, true, nil}}
	out, err := json.Marshal(mask.Dict(in))
	require.NoError(t, err)
	require.JSONEq(t, `{"a":"http://******@h/","b":[{"c":"http://h/?x=******"},7,true,null]}`, string(out))
	require.Equal(t, "http://u:SECRET@h/", in["a"])
}

func FuzzURLs(f *testing.F) {
	f.Add("http", "user", "SECRET", "host:80", "/path", "sig")
	f.Fuzz(func(t *testing.T, scheme, user, password, host, path, name string) {
		u := url.URL{Scheme: scheme, Host: host, Path: path, User: url.UserPassword(user, password+"SECRETVALUE")}
		u.RawQuery = url.Values{name: {"SECRETVALUE"}}.Encode()
		if _, err := url.Parse(u.String()); err != nil || scheme == "" || host == "" {
			return
		}
		if strings.Contains(scheme+user+host+path+name, "SECRETVALUE") {
			return
		}
		got := mask.URLs("before " + u.String() + " after")
		require.NotContains(t, got, "SECRETVALUE", u.String())
		require.Equal(t, got, mask.URLs(got))
	})
}
