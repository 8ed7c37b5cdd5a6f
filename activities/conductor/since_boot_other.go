//go:build !linux

package conductor

import "time"

func sinceBoot() time.Duration { return time.Since(started) }
