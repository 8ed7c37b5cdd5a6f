//go:build !chaos

package chaos

import (
	"context"
	"time"
)

// On says whether points stop anybody.
const On = false

// At does nothing.
func At(context.Context, Point) {}

// RunTimeout is none.
func RunTimeout() time.Duration { return 0 }
