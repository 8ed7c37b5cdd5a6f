package terminal

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// keys is a console that notes what is sent to it.
type keys struct {
	Console
	sent string
}

func (k *keys) Write(p []byte) (int, error) { k.sent += string(p); return len(p), nil }

func (k *keys) SendBreak(context.Context) error { k.sent += "<break>"; return nil }

func TestKeysThatAreNotForTheServer(t *testing.T) {
	for _, c := range []struct {
		typed, sent string
		left        bool
	}{
		{"ls\r", "ls\r", false},
		{"~.", "", true},
		{"ls\r~.more", "ls\r", true},
		{"ls ~.\r", "ls ~.\r", false},
		{"~~.", "~.", false},
		{"~x~.", "~x~.", false},
		{"a\r~Bb", "a\r<break>b", false},
		{"~?\r~B", "\r<break>", false},
		{"~B~.", "<break>", true},
	} {
		for _, atOnce := range []bool{true, false} {
			var k keys
			var help bytes.Buffer
			e := newEscapes(t.Context(), &k, &help)
			var err error
			if atOnce {
				_, err = e.Write([]byte(c.typed))
			}
			for i := 0; !atOnce && err == nil && i < len(c.typed); i++ {
				_, err = e.Write([]byte{c.typed[i]})
			}
			require.Equal(t, c.left, errors.Is(err, errLeft), "%q", c.typed)
			require.Equal(t, c.sent, k.sent, "%q", c.typed)
			require.Equal(t, strings.Contains(c.typed, "~?"), help.Len() > 0)
		}
	}
}
