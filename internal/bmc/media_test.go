package bmc_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
)

func TestAnImageIsKnownInTheBMCsSpelling(t *testing.T) {
	const sent = "http://images.example.org/rack 7/deploy%2Biso/agent.iso"
	type known struct{ holds, may bool }
	for told, want := range map[string]known{
		sent: {true, true},
		"http://images.example.org:80/rack%207/deploy+iso/agent.iso":     {true, true},
		"HTTP://Images.Example.Org./rack%207/deploy%2biso//agent.iso/":   {true, true},
		"http://joe:****@images.example.org/rack 7/deploy+iso/agent.iso": {true, true},
		" http://images.example.org/rack 7/deploy+iso/agent.iso ":        {true, true},
		"http://images.example.org/rack 7/deploy+iso/agent.iso?sig=***":  {false, true},
		"agent.iso":          {false, true},
		"":                   {false, true},
		"other.iso":          {false, false},
		"/var/lib/agent.iso": {false, false},
		"https://images.example.org/rack 7/deploy+iso/agent.iso":     {false, false},
		"http://images.example.org:8080/rack 7/deploy+iso/agent.iso": {false, false},
		"http://images.example.org/rack 8/deploy+iso/agent.iso":      {false, false},
		"http://images.example.net/rack 7/deploy+iso/agent.iso":      {false, false},
		"http://%zz/": {false, false},
	} {
		m := bmc.Media{Inserted: true, Image: told}
		require.Equal(t, want, known{m.Holds(sent), m.MayHold(sent)}, "%q", told)
		out := bmc.Media{Image: told}
		require.Equal(t, known{}, known{out.Holds(sent), out.MayHold(sent)}, "%q is out", told)
	}
}

func TestAQueryIsPartOfAnImage(t *testing.T) {
	told := bmc.Media{Inserted: true, Image: "http://h/a.iso?b=2&a=%31"}
	require.True(t, told.Holds("http://h/a.iso?a=1&b=2"))
	require.False(t, told.Holds("http://h/a.iso?a=1&b=3"))
	require.False(t, told.Holds("http://h/a.iso"))
	require.True(t, told.MayHold("http://h/a.iso?a=1&b=3"), "it may be masked")
	require.True(t, bmc.Media{Inserted: true, Image: "http://h/a.iso"}.MayHold("http://h/a.iso?sig=1"), "it may be left out")
}

func FuzzAnImageIsKnownByItself(f *testing.F) {
	for _, s := range []string{"http://h/a.iso", "https://u:p@h:443/a b?c=d&e", "nfs://h/x", "a.iso", "%zz", "http://[::1]:80//a/../b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		m := bmc.Media{Inserted: true, Image: s}
		require.True(t, m.Holds(s))
		require.True(t, m.MayHold(s))
	})
}
