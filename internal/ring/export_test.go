package ring

// Hash is the hash of the ring, for a test that builds another one on it.
func Hash(s string) uint64 { return mix(hash(s)) }
