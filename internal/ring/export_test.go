package ring

// Hash is the hash of the ring, for a test that builds another ring with it.
func Hash(s string) uint64 { return mix(hash(s)) }
