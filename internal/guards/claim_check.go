//go:build !without_claim_check

package guards

// ClaimCheck holds that a claim is taken, looked at and written under only while it is the newest (store).
const ClaimCheck = true
