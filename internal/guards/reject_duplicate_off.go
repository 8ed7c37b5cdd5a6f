//go:build without_reject_duplicate

package guards

// RejectDuplicate is down.
const RejectDuplicate = false
