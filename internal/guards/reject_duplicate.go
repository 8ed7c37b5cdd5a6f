//go:build !without_reject_duplicate

package guards

// RejectDuplicate holds that an operation's workflow is started once and for all (worker).
const RejectDuplicate = true
