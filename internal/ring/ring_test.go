package ring_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/quick"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/ring"
)

func TestNobodyOwnsWhereNobodyIs(t *testing.T) {
	require.Empty(t, ring.Owner("k", nil))
	require.Equal(t, "a", ring.Owner("k", []string{"a"}))
}

// Every process must find the same owner, also a process of another release.
func TestOwnersAreFixed(t *testing.T) {
	have := map[string]string{}
	for _, k := range []string{"1be26c0b-03f2-4d2e-ae87-c02d7f33c123", "k1", "k2", "k3", ""} {
		have[k] = ring.Owner(k, []string{"c1", "c2", "c3"})
	}
	require.Equal(t, map[string]string{"1be26c0b-03f2-4d2e-ae87-c02d7f33c123": "c3", "k1": "c3", "k2": "c3", "k3": "c3", "": "c2"}, have)
}

func TestTheOrderOfMembersDoesNotMatter(t *testing.T) {
	require.NoError(t, quick.Check(func(key string, members []string) bool {
		turned := slices.Clone(members)
		slices.Reverse(turned)
		return ring.Owner(key, members) == ring.Owner(key, append(turned, members...))
	}, nil))
}

func TestTheOwnerIsAMember(t *testing.T) {
	require.NoError(t, quick.Check(func(key string, members []string) bool {
		o := ring.Owner(key, members)
		return len(members) == 0 && o == "" || slices.Contains(members, o)
	}, nil))
}

func TestRemovingAMemberMovesOnlyItsKeys(t *testing.T) {
	require.NoError(t, quick.Check(func(key string, members []string, gone uint) bool {
		if len(members) < 2 {
			return true
		}
		leaves := members[gone%uint(len(members))]
		rest := slices.DeleteFunc(slices.Clone(members), func(m string) bool { return m == leaves })
		before := ring.Owner(key, members)
		return before == leaves || ring.Owner(key, rest) == before
	}, nil))
}

func TestSharesAreEven(t *testing.T) {
	for _, n := range []int{3, 10, 30} {
		var members []string
		for i := range n {
			members = append(members, fmt.Sprintf("conductor-%02d", i))
		}
		share := map[string]int{}
		const mean = 1000
		for i := range n * mean {
			share[ring.Owner(fmt.Sprintf("node-%d", i), members)]++
		}
		for m, k := range share {
			require.InDelta(t, mean, k, mean*0.15, "%s of %d", m, n)
		}
	}
}

func BenchmarkOwner(b *testing.B) {
	members := make([]string, 30)
	for i := range members {
		members[i] = fmt.Sprintf("conductor-%02d", i)
	}
	for b.Loop() {
		ring.Owner("1be26c0b-03f2-4d2e-ae87-c02d7f33c123", members)
	}
}
