//go:build !without_begun_at

package guards

// BegunAt holds that what has begun is never started again, and belongs to the run that began it (store).
const BegunAt = true
