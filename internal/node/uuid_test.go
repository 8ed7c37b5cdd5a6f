package node_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/node"
)

func TestFormsOfAUUID(t *testing.T) {
	const canonical = "1be26c0b-03f2-4d2e-ae87-c02d7f33c123"
	for s, is := range map[string]struct{ uuid, hyphenated, like bool }{
		canonical:                              {true, true, true},
		"1BE26C0B-03F2-4D2E-AE87-C02D7F33C123": {true, true, true},
		"1be26c0b03f24d2eae87c02d7f33c123":     {true, false, true},
		"{" + canonical + "}":                  {false, false, true},
		"urn:uuid:" + canonical:                {false, false, true},
		"1be2-6c0b03f24d2eae87c02d7f33c123":    {false, false, true},
		"1be26c0b-03f2-4d2e-ae87-c02d7f33c12g": {},
		"node-1":                               {},
		"":                                     {},
	} {
		require.Equal(t, is.uuid, node.IsUUID(s), s)
		require.Equal(t, is.hyphenated, node.IsHyphenatedUUID(s), s)
		require.Equal(t, is.like, node.IsUUIDLike(s), s)
		want := s
		if is.uuid {
			want = canonical
		}
		require.Equal(t, want, node.CanonicalUUID(s))
	}
	for range 100 {
		u := uuid.NewString()
		require.True(t, node.IsHyphenatedUUID(u), u)
		require.Equal(t, u, node.CanonicalUUID(u))
	}
}
