// Package ring says which member owns which key. It is pure: the same members
// give the same owners in every process, and it never looks at who is alive.
package ring

import "hash/fnv"

// Owner picks, for key, the member with the highest score (rendezvous hashing);
// "" where there are no members. Their order and repetitions do not matter.
// Invariant: taking a member away moves only that member's keys, and adding one
// moves keys only to it. Shares are even to a few percent of a large number of
// keys, and nothing better than chance for a handful.
func Owner(key string, members []string) string {
	k := hash(key)
	var owner string
	var highest uint64
	for i, m := range members {
		s := mix(k ^ mix(hash(m)))
		if i == 0 || s > highest || s == highest && m < owner {
			owner, highest = m, s
		}
	}
	return owner
}

func hash(s string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s)) // never fails
	return h.Sum64()
}

// mix spreads every bit over all 64 (the finalizer of SplitMix64, Steele, Lea
// and Flood 2014): FNV alone leaves names that differ at their end close together.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
