package node

import "time"

// Once makes a request take effect once, however often it is sent: within
// OnceFor the same key is answered with the operation of the first request.
type Once struct {
	Key    string // of the client's choice, per node; "" = every request counts
	Digest []byte // of the request's body
}

// OnceFor is how long a key is remembered.
const OnceFor = 24 * time.Hour
