package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"go.temper.dev/temper/internal/cli/exit"
	"go.temper.dev/temper/internal/text"
)

// wanted describes, by pflag's name of the type, the values that a flag takes.
var wanted = map[string]string{
	"int": "a whole number", "int64": "a whole number", "uint": "a whole number from 0 on", "uint16": "a whole number from 0 to 65535",
	"float64": "a number", "bool": "true or false", "duration": "a duration such as 30s, 10m or 1h30m",
	"stringToString": "NAME=VALUE, with commas between several", "stringSlice": "words with commas between them",
}

// flagError says what is wrong with a flag, and what is allowed.
func flagError(_ *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		f := invalid.GetFlag()
		if want := wanted[f.Value.Type()]; want != "" {
			_, about := pflag.UnquoteUsage(f)
			err = fmt.Errorf("--%s is %q: want %s (%s)", f.Name, text.Cut(invalid.GetValue()), want, about)
		} else { // the flag's own words; its value may be a password
			err = fmt.Errorf("--%s: %w", f.Name, invalid.Unwrap())
		}
	}
	return exit.Usage(err)
}
