package dev

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"go.temper.dev/temper/internal/dev/devfile"
	"go.temper.dev/temper/internal/pgserver"
)

// postgres returns the private cluster of this stack. If PostgreSQL is missing, it is installed, if possible.
func (s *Stack) postgres() Spec {
	return Spec{Role: "postgres", Name: "postgres", Stage: stageStorage, Grace: grace, RestartHint: restartDev, Start: s.retryPort("postgres", func(ctx context.Context) (Child, error) {
		if err := s.ensurePostgres(ctx); err != nil {
			return nil, err
		}
		dir, err := s.clusterFolder()
		if err != nil {
			return nil, err
		}
		address := s.dir.listen("postgres", "127.0.0.1:0")
		server, err := pgserver.Start(ctx, pgserver.Options{
			Dir: dir, Port: portOf(address), LogFile: s.dir.logFile("postgres"), EndWithStarter: true,
		})
		if err != nil && !isFree(address) {
			return nil, &takenError{address: address, err: err}
		}
		if err != nil {
			return nil, err
		}
		child := &cluster{server}
		if err := server.CreateDatabase(ctx, database); err != nil {
			return nil, errors.Join(err, server.Stop(ctx))
		}
		s.update(func(i *devfile.Info) { i.DatabaseURL = server.URL(database) })
		return child, s.dir.remember("postgres", fmt.Sprintf("127.0.0.1:%d", server.Port))
	})}
}

func (s *Stack) ensurePostgres(ctx context.Context) error {
	_, err := pgserver.Find()
	if !errors.Is(err, pgserver.ErrNotFound) {
		return err
	}
	s.o.Say("PostgreSQL is not installed here; installing it")
	return pgserver.Install(ctx, os.Stderr)
}

// otherFolder is where root creates folders that other users can get to.
const otherFolder = "/var/lib/temper"

// clusterFolder returns where PostgreSQL keeps its data. It is in the stack's folder, unless root runs the stack in a folder
// such as root's home, which the user that PostgreSQL runs as can't get to. The first start decides.
func (s *Stack) clusterFolder() (string, error) {
	inside, note := s.dir.in("postgres"), s.dir.in("run", "postgres.path")
	if b, err := os.ReadFile(note); err == nil {
		return strings.TrimSpace(string(b)), nil
	}
	if _, err := os.Stat(inside); err == nil || os.Geteuid() != 0 || s.dir.openToOthers() {
		return inside, nil
	}
	if err := os.MkdirAll(otherFolder, 0o755); err != nil {
		return "", fmt.Errorf("make a folder for PostgreSQL: %w", err)
	}
	outside, err := os.MkdirTemp(otherFolder, "dev-")
	if err != nil {
		return "", fmt.Errorf("make a folder for PostgreSQL: %w", err)
	}
	if err := os.Chmod(outside, 0o711); err != nil { //nolint:gosec // what is in it is the server's own
		return "", fmt.Errorf("open the folder of PostgreSQL: %w", err)
	}
	outside = filepath.Join(outside, "postgres")
	s.o.Say("PostgreSQL keeps its data in %s: it does not run as root, and no other user can get to %s", outside, s.dir.path)
	return outside, devfile.Write(note, 0o600, []byte(outside+"\n"))
}

// portOf returns the port of an address; 0 = any free one.
func portOf(address string) int {
	_, port, _ := net.SplitHostPort(address)
	n, _ := strconv.Atoi(port) // an invalid port becomes 0
	return n
}

// cluster is a PostgreSQL server as a Child.
type cluster struct{ *pgserver.Server }

func (c *cluster) Pid() int           { return c.Server.Pid }
func (c *cluster) MetricsURL() string { return "" }
func (c *cluster) End() string        { return "ended" }
