// Package ring computes which member owns which key. It is pure: the same input gives the
// same owners in every process. It knows nothing of who is alive.
//
// Libraries for consistent hashing with bounded load assign all keys anew from the members
// alone. Here a node begins at its owner of the epoch before, may be owned by some members
// only, and may be pinned to its owner. So this is our own.
package ring

import "hash/fnv"

// Owner returns the member with the highest score for key (rendezvous hashing), "" if there
// are no members. Their order and duplicates do not matter. Invariant: removing a member
// moves only that member's keys, and adding one moves keys only to it. With many keys
// the shares differ by a few percent, with a few keys by much more.
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

// mix spreads every bit over all 64 (the finalizer of SplitMix64, Steele, Lea and Flood
// 2014). Without it names that differ only at their end would have similar FNV hashes.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
