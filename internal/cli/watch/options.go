package watch

import (
	"cmp"
	"time"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/cli/exit"
)

// Options says whether and how a command follows what it started.
type Options struct {
	Watch    bool          // show the steps until it has ended
	Wait     time.Duration // wait at most so long; 0 = without a limit, if Watch is set
	Timeout  time.Duration // the same, but it does not enable following; 0 = none
	Interval time.Duration // between two requests for the same operation
}

// AddFlags adds the flags with which a command follows what it started, and the exit codes to its help.
func (o *Options) AddFlags(c *cobra.Command, g Goal) {
	o.AddInterval(c)
	c.Long = cmp.Or(c.Long, c.Short) + "\n\n" + Help()
	c.Flags().BoolVarP(&o.Watch, "watch", "w", false, "show the steps until the operation has ended or holds; exit code 0 only if "+g.condition())
	c.Flags().DurationVar(&o.Wait, "wait", 0, "wait until the operation has ended or holds, for this `DURATION` at most; exit code 0 only if "+g.condition())
}

// AddInterval adds --every, which help does not show because hardly anybody needs it.
func (o *Options) AddInterval(c *cobra.Command) {
	c.Flags().DurationVar(&o.Interval, "every", 500*time.Millisecond, "pause between two requests")
	c.Flags().Lookup("every").Hidden = true
}

// Enabled reports whether the command follows what it started.
func (o Options) Enabled() bool { return o.Watch || o.Wait > 0 }

// limit is how long they are followed at most; 0 = until they have ended.
func (o Options) limit() time.Duration {
	if o.Wait > 0 && o.Timeout > 0 {
		return min(o.Wait, o.Timeout)
	}
	return max(o.Wait, o.Timeout)
}

// Help explains what commands that follow operations do in an outage, and their exit codes.
func Help() string {
	return `While the API does not answer or its database is away, a command that follows operations goes on trying, until Ctrl-C or until
the time of --timeout or --wait is over. It says on standard error when it loses sight of them and when it sees them again.
Operations go on without it, "temper operation watch ID" takes up again. If nothing goes on for some seconds because Temporal is away
or no orchestrator runs, it says so there, too, and goes on waiting.

` + exit.Help()
}
