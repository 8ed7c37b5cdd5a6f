//go:build !linux

package main

import "github.com/spf13/cobra"

// agentCommands is empty, because "temper agent" works with Linux's devices.
func agentCommands() []*cobra.Command { return nil }
