package watch

import (
	"cmp"
	"context"
	"time"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/cli/exit"
)

// Options says whether and how a command follows what it started.
type Options struct {
	Watch    bool          // show the steps until it has ended
	Wait     time.Duration // wait at most so long; 0 = without a limit, if Watch is set
	Interval time.Duration // between two requests for the same operation
}

// AddFlags adds the flags with which a command follows what it started, and the exit codes to its help.
func (o *Options) AddFlags(c *cobra.Command, g Goal) {
	o.AddInterval(c)
	c.Long = cmp.Or(c.Long, c.Short) + "\n\n" + exit.Help
	c.Flags().BoolVarP(&o.Watch, "watch", "w", false, "show the steps until the operation has ended; exit code 0 only if "+g.condition())
	c.Flags().DurationVar(&o.Wait, "wait", 0, "wait until the operation has ended, for this `DURATION` at most; exit code 0 only if "+g.condition())
}

// AddInterval adds --every, which help does not show because hardly anybody needs it.
func (o *Options) AddInterval(c *cobra.Command) {
	c.Flags().DurationVar(&o.Interval, "every", 500*time.Millisecond, "pause between two requests")
	c.Flags().Lookup("every").Hidden = true
}

// Enabled reports whether the command follows what it started.
func (o Options) Enabled() bool { return o.Watch || o.Wait > 0 }

// pausePerTarget times the number of open operations is the shortest pause: the more they are, the less often each is read.
const pausePerTarget = 10 * time.Millisecond

// pause waits until it is time to ask again. It returns false if ctx ended before.
func (o Options) pause(ctx context.Context, open int) bool {
	t := time.NewTimer(max(o.Interval, time.Duration(open)*pausePerTarget))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
