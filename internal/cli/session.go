package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"go.temper.dev/temper/internal/cli/exit"
	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/dev/devfile"
)

// defaultAPI is where an API listens by default.
const defaultAPI = "http://127.0.0.1:6385"

// devInfoFiles are the files in which a temper dev that was started in this folder says where its API is: in its default
// data folder, or in the folder above that.
var devInfoFiles = []string{".temper/dev/" + devfile.InfoFile, ".temper/" + devfile.InfoFile}

// session is one run of a command over the API: the client, the format of the answer, and the streams.
type session struct {
	api, user, password string
	caFile              string // of the API's authorities
	timeout             timeLimit
	format              format
	wide                bool

	*client.Client // after open
	invocation     invocation
	in             io.Reader
	out, err       io.Writer
	now            func() time.Time
}

// timeLimit is a flag that knows whether it was given.
type timeLimit struct {
	time.Duration
	given bool
}

// Type is the flag's type in help, and for checkArguments.
func (*timeLimit) Type() string { return "duration" }

// Set takes the flag's value.
func (l *timeLimit) Set(v string) (err error) {
	l.Duration, err = time.ParseDuration(v)
	l.given = true
	return err
}

// clock is the clock of all sessions. Tests set another one.
var clock = time.Now

func newSession() *session {
	return &session{format: asTable, now: clock, timeout: timeLimit{Duration: client.DefaultTimeout}}
}

// addFlags adds the flags that all commands over the API have.
func (s *session) addFlags(c *cobra.Command, f *pflag.FlagSet) {
	f.StringVar(&s.api, "api", "", "`URL` of the API (default $TEMPER_API_URL, else that of a temper dev that was started in this folder, else "+defaultAPI+")")
	f.StringVar(&s.user, "user", "", "user `name`, if the API requires one (default $TEMPER_API_USER); without it, $TEMPER_TOKEN is sent if that is set")
	f.StringVar(&s.password, "password", "", "`password` of the user; prefer $TEMPER_API_PASSWORD, which no process list shows")
	f.StringVar(&s.caFile, "api-ca", "", "`FILE` with the authorities of the API's certificate, PEM, besides the system's (default $TEMPER_API_CA)")
	f.Var(&s.timeout, "timeout", "`DURATION` that a request may take, retries included; a command that follows operations stops after it, without it never")
	f.BoolVar(&s.wide, "wide", false, "show tables in full, with more columns; without it they are cut to the width of the terminal")
	f.VarP(&s.format, "output", "o", "output `format`: table, json or yaml")
	must(c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{string(asTable), string(asJSON), string(asYAML)}, cobra.ShellCompDirectiveNoFileComp)))
}

// run returns the RunE of a command that does do. do has a client, and its errors get advice.
func (s *session) run(do func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		if err := checkArguments(c, args); err != nil {
			return exit.Usage(err)
		}
		s.invocation = invocationOf(c)
		late := &delay{now: s.now, out: s.invocation.writer(c.ErrOrStderr())}
		if err := s.open(c, late); err != nil {
			return err
		}
		defer s.Close()
		defer late.over()
		return s.withBrokenParts(c.Context(), late, withAdvice(do(c.Context(), args)))
	}
}

// checkArguments refuses empty names and durations that are not above zero, before the first request.
func checkArguments(c *cobra.Command, args []string) error {
	words := strings.Fields(c.Use)[1:]
	for i, arg := range args {
		if strings.TrimSpace(arg) == "" && len(words) > 0 {
			what := strings.Trim(words[min(i, len(words)-1)], "[].")
			return fmt.Errorf("a name or uuid is missing: %s is empty", what)
		}
	}
	var err error
	c.Flags().Visit(func(f *pflag.Flag) {
		value := f.Value.String()
		if f.Name == "node" && strings.TrimSpace(value) == "" {
			err = errors.New("a name or uuid is missing: --node is empty")
		}
		if d, bad := time.ParseDuration(value); f.Value.Type() == "duration" && bad == nil && d <= 0 {
			err = fmt.Errorf("--%s is %s: it must be above 0, such as 90s", f.Name, value)
		}
	})
	return err
}

// open makes the client from flags and environment. It sends no request. late says why answers do not come.
func (s *session) open(c *cobra.Command, late *delay) error {
	s.in, s.out, s.err = c.InOrStdin(), c.OutOrStdout(), s.invocation.writer(c.ErrOrStderr())
	var err error
	s.Client, err = client.New(client.Config{
		URL: s.apiURL(), User: cmp.Or(s.user, os.Getenv("TEMPER_API_USER")),
		Password: cmp.Or(s.password, os.Getenv("TEMPER_API_PASSWORD")), CAFile: cmp.Or(s.caFile, os.Getenv("TEMPER_API_CA")),
		Token: s.token(), Timeout: s.timeout.Duration, RepeatFor: s.repeatFor(),
		Retrying: late.repeats, Warning: late.warns,
		Waiting: func(ctx context.Context, until, again time.Time) { late.waits(ctx, s.Client, until, again) },
	})
	return err
}

// token is that of a service account, unless a user was named.
func (s *session) token() string {
	if cmp.Or(s.user, os.Getenv("TEMPER_API_USER")) != "" {
		return ""
	}
	return strings.TrimSpace(os.Getenv("TEMPER_TOKEN"))
}

// repeatsFor is how long a command repeats a request that reads, or that takes effect once, unless --timeout says for how long.
const repeatsFor = 5 * time.Second

func (s *session) repeatFor() time.Duration {
	if s.timeout.given {
		return s.timeout.Duration
	}
	return repeatsFor
}

func (s *session) apiURL() string {
	if at := cmp.Or(s.api, os.Getenv("TEMPER_API_URL")); at != "" {
		return at
	}
	for _, path := range devInfoFiles {
		if i, err := devfile.ReadInfo(path); err == nil && i.APIURL != "" {
			return i.APIURL
		}
	}
	return defaultAPI
}
