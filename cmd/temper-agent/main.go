//go:build linux

// Command temper-agent is temper with the command agent only. It is for ramdisks, where every megabyte is loaded by every server.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/agent/agentcmd"
	"go.temper.dev/temper/internal/buildinfo"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	root := &cobra.Command{Use: "temper", Short: "The agent of Temper's ramdisk", Version: buildinfo.Line(), SilenceUsage: true, SilenceErrors: true}
	root.AddCommand(agentcmd.New())
	err := root.ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "temper:", err)
		os.Exit(1)
	}
}
