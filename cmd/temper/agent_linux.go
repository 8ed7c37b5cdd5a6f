package main

import (
	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/agent/agentcmd"
)

// agentCommands is the command "temper agent", which works with Linux's devices.
func agentCommands() []*cobra.Command { return []*cobra.Command{agentcmd.New()} }
