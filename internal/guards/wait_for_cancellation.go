//go:build !without_wait_for_cancellation

package guards

// WaitForCancellation holds that an operation is undone only when the step that was cancelled has returned (workflows).
const WaitForCancellation = true
