package config

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

// One file and one environment serve all roles, so a key can mean one thing only.
func TestAKeyIsTheSameSettingInEveryRole(t *testing.T) {
	seen := map[string]field{}
	envs := map[string]string{}
	for _, r := range roles {
		flags := map[string]string{}
		for _, f := range fieldsOf(reflect.TypeOf(r)) {
			if before, ok := seen[f.key]; ok {
				require.Equal(t, before.def, f.def, f.key)
				require.Equal(t, before.kind, f.kind, f.key)
			}
			seen[f.key] = f
			require.Contains(t, []string{"", f.key}, envs[f.env()], "two settings share %s", f.env())
			envs[f.env()] = f.key
			require.NotContains(t, flags, f.flag, "%T has two flags --%s", r, f.flag)
			flags[f.flag] = f.key
			require.NotEmpty(t, f.help, f.key)
		}
	}
}

func TestEveryDefaultCanBeRead(t *testing.T) {
	for key, f := range allFields() {
		v := reflect.New(f.kind).Elem()
		require.NoError(t, decode(v, f.def), key)
	}
}

// Whatever stands in a file, reading it ends in a value or an error.
func FuzzSet(f *testing.F) {
	for _, s := range []string{"", "5s", "5", "-1", "true", "a,b", "1e9", "\x00", "９"} {
		f.Add(s)
	}
	f.Fuzz(func(_ *testing.T, s string) {
		for _, one := range allFields() {
			_ = decode(reflect.New(one.kind).Elem(), s)
		}
	})
}
