package main

import "github.com/spf13/cobra"

// clientCommands are the commands that ask the API.
func clientCommands() []*cobra.Command { return nil }
