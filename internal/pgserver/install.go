package pgserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
)

// clusterConf is the file with Debian's settings for new clusters. Tests use another one.
var clusterConf = "/etc/postgresql-common/createcluster.conf"

// Install installs Debian's package of PostgreSQL, and keeps it from creating a cluster of its
// own. It does so only as root on a machine with apt-get; else the error names the command to
// run. The output of apt-get goes to out.
func Install(ctx context.Context, out io.Writer) error {
	apt, err := exec.LookPath("apt-get")
	if err != nil {
		return fmt.Errorf("%w; install it with: %s", ErrNotFound, installCommand())
	}
	if os.Geteuid() != 0 {
		return fmt.Errorf("%w; install it with: sudo apt-get install -y postgresql", ErrNotFound)
	}
	run := func(args ...string) error {
		cmd := exec.CommandContext(ctx, apt, args...)
		cmd.Stdout, cmd.Stderr = out, out
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("apt-get %v: %w", args, err)
		}
		return nil
	}
	if err := run("-q", "update"); err != nil {
		return err
	}
	// postgresql-common has the file that decides whether the server's package creates a cluster.
	if err := run("-q", "-y", "--no-install-recommends", "install", "postgresql-common"); err != nil {
		return err
	}
	restore, err := withoutMainCluster(clusterConf)
	if err != nil {
		return err
	}
	return errors.Join(run("-q", "-y", "--no-install-recommends", "install", "postgresql"), restore())
}

// withoutMainCluster adds "create_main_cluster = false" to Debian's settings. restore restores the
// file.
func withoutMainCluster(path string) (restore func() error, err error) {
	before, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read settings of new clusters: %w", err)
	}
	existed := err == nil
	after := append(before[:len(before):len(before)], "\ncreate_main_cluster = false\n"...)
	if err := os.WriteFile(path, after, 0o644); err != nil {
		return nil, fmt.Errorf("keep the package from making a cluster: %w", err)
	}
	return func() error {
		if !existed {
			return os.Remove(path)
		}
		return os.WriteFile(path, before, 0o644)
	}, nil
}

func installCommand() string {
	if runtime.GOOS == "darwin" {
		return "brew install postgresql@17"
	}
	return "your system's package of the PostgreSQL server, version " + strconv.Itoa(MinMajor) + " or newer"
}
