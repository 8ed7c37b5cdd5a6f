//go:build without_begun_at

package guards

// BegunAt is down.
const BegunAt = false
