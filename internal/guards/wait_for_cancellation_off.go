//go:build without_wait_for_cancellation

package guards

// WaitForCancellation is down.
const WaitForCancellation = false
