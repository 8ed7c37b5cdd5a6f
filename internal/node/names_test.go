package node_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
	. "go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/node/nodetest"
)

func TestNames(t *testing.T) {
	for _, s := range []string{"n1", "rack-1.row_2~a", "metal3~host-0", "A", strings.Repeat("a", 255)} {
		require.True(t, ValidName(s, 95), s)
	}
	for _, s := range []string{"", "a b", "a/b", "ä", "a\n", strings.Repeat("a", 256), nodetest.UUID, strings.ReplaceAll(nodetest.UUID, "-", ""), "{" + nodetest.UUID + "}", "urn:uuid:" + strings.ToUpper(nodetest.UUID)} {
		require.False(t, ValidName(s, 95), s)
	}
	require.False(t, ValidName("a~b", 9), "before 1.10 names were host names")
	require.False(t, ValidName("Upper", 9))
	require.True(t, ValidName("host-1.example.com.", 9))
	require.Equal(t, fault.Invalid, fault.KindOf(NotReserved("validate")))
	require.NoError(t, NotReserved("n1"))
}

func TestTheNamesInSentences(t *testing.T) {
	require.Equal(t, "the default conductor group", GroupWords(""))
	require.Equal(t, `conductor group "rack-1"`, GroupWords("rack-1"))
	require.Equal(t, "conductor c1", ConductorWords("c1"))
	require.Equal(t, "conductor-1", ConductorWords("conductor-1"), "the word is not said twice")
}

func TestMACs(t *testing.T) {
	for in, want := range map[string]string{"52:54:00:AB:cd:ef": "52:54:00:ab:cd:ef", "52-54-00-AB-CD-EF": "52:54:00:ab:cd:ef"} {
		got, err := ValidMAC(in)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, s := range []string{"", "525400abcdef", "52:54-00:ab:cd:ef", "52:54:00:ab:cd", "52:54:00:ab:cd:ef:00", "52:54:00:ab:cd:eg", "52:54:00:ab:cd:ef\n"} {
		_, err := ValidMAC(s)
		require.Equal(t, fault.Invalid, fault.KindOf(err), s)
	}
	_, err := ValidMAC("nonsense")
	require.EqualError(t, err, "Expected a MAC address but received nonsense.")
}

func TestGroupsClassesAndTraits(t *testing.T) {
	g, err := ValidConductorGroup("Rack_1.A-b")
	require.NoError(t, err)
	require.Equal(t, "rack_1.a-b", g)
	_, err = ValidConductorGroup("rack 1")
	require.EqualError(t, err, "Expected a conductor group but received rack 1.")
	require.NoError(t, ValidResourceClass(strings.Repeat("ü", 80)))
	require.Error(t, ValidResourceClass(strings.Repeat("a", 81)))
	for _, s := range []string{"CUSTOM_GOLD", "HW_CPU_X86_VMX", "COMPUTE_TRUSTED_CERTS"} {
		require.NoError(t, ValidTrait(s))
	}
	for _, s := range []string{"", "CUSTOM_", "CUSTOM_gold", "GOLD", "HW_", " HW_X", "CUSTOM_" + strings.Repeat("A", 250)} {
		require.Error(t, ValidTrait(s), s)
	}
}

func FuzzNames(f *testing.F) {
	for _, s := range []string{"n1", nodetest.UUID, "a..b", "~", "52:54:00:AB:cd:ef", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if ValidName(s, 9) {
			require.True(t, ValidName(s, 95), "a name of old is one still")
		}
		if ValidName(s, 95) {
			require.Equal(t, -1, strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r == '/' || r > '~' }))
		}
		if mac, err := ValidMAC(s); err == nil {
			again, err := ValidMAC(mac)
			require.NoError(t, err)
			require.Equal(t, mac, again)
			require.Len(t, mac, 17)
		}
	})
}
