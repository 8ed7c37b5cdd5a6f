package dev

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAChildDiesWithItsParentHoweverThatDies(t *testing.T) {
	dir := t.TempDir()
	note := filepath.Join(dir, "pid")
	parent := child(dir, dir, "supervise")
	parent.Args, parent.ReadyFile, parent.LogFile = []string{note}, "", filepath.Join(dir, "parent.log")
	p, err := parent.Run(t.Context())
	require.NoError(t, err)
	var pid int
	require.Eventually(t, func() bool {
		body, err := os.ReadFile(note)
		if err != nil {
			return false
		}
		_, err = fmt.Sscan(string(body), &pid)
		return err == nil
	}, 30*time.Second, 10*time.Millisecond)
	require.True(t, alive(pid))
	require.NoError(t, syscall.Kill(p.Pid(), syscall.SIGKILL))
	requireGone(t, pid)
}
