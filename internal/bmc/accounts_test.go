package bmc_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
)

func TestNewPasswordsAreStrict(t *testing.T) {
	seen := map[string]bool{}
	for range 500 {
		p, err := bmc.MakePassword(12)
		require.NoError(t, err)
		require.Len(t, p, 12)
		require.False(t, seen[p])
		seen[p] = true
		require.Regexp(t, `^[A-Za-z][A-Za-z0-9._-]*$`, p)
		for _, class := range []string{"ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz", "0123456789", "-_."} {
			require.True(t, strings.ContainsAny(p, class), p)
		}
		for i := 1; i < len(p); i++ {
			require.NotEqual(t, p[i-1], p[i], p)
		}
	}
}

func TestHowLongNewPasswordsAre(t *testing.T) {
	for name, c := range map[string]struct {
		rule bmc.PasswordRule
		want int // 0 = refused
	}{
		"shared with IPMI":                   {bmc.PasswordRule{IPMI: true}, 16},
		"as long as the BMC takes":           {bmc.PasswordRule{Max: 24}, 24},
		"not shared":                         {bmc.PasswordRule{Max: 128}, 32},
		"IPMI, and the BMC wants more":       {bmc.PasswordRule{Min: 18, Max: 20, IPMI: true}, 18},
		"IPMI, and the BMC takes less":       {bmc.PasswordRule{Max: 15, IPMI: true}, 15},
		"more than IPMI can":                 {bmc.PasswordRule{Min: 21, IPMI: true}, 0},
		"so short that it could be guessed":  {bmc.PasswordRule{Max: 11}, 0},
		"a BMC that wants more than we like": {bmc.PasswordRule{Min: 40, Max: 60}, 40},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.rule.Length()
			require.Equal(t, c.want, got)
			if c.want == 0 {
				require.Equal(t, fault.Invalid, fault.KindOf(err))
			} else {
				require.NoError(t, err)
			}
		})
	}
}
