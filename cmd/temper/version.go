package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/buildinfo"
)

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version, the commit and the version of Go; as temper --version", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(c.OutOrStdout(), buildinfo.Line())
			return err
		},
	}
}
