package node

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
)

// EventPath is the path of the API below which BMCs send their events. The secret of a subscription follows it.
const EventPath = "/temper/v1/bmc-events/"

// SubscriptionID returns the id of the subscription whose events are sent to destination, a URL or path that ends with the
// secret. The id is stored and announced; the secret is not.
func SubscriptionID(destination string) string {
	sum := sha256.Sum256([]byte(path.Base(destination)))
	return hex.EncodeToString(sum[:])
}
