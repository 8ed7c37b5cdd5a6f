//go:build without_claim_check

package guards

// ClaimCheck is down.
const ClaimCheck = false
