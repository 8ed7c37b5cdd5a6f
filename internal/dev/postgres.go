package dev

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"

	"go.temper.dev/temper/internal/pgserver"
)

// postgres is the private cluster of this stack. Where PostgreSQL is missing it is installed, if that may be.
func (s *Stack) postgres() Spec {
	return Spec{Role: "postgres", Name: "postgres", Stage: stageStorage, Grace: grace, Start: func(ctx context.Context) (Child, error) {
		if err := s.needPostgres(ctx); err != nil {
			return nil, err
		}
		server, err := pgserver.Start(ctx, pgserver.Options{
			Dir: s.dir.in("postgres"), Port: portOf(s.dir.listen("postgres", "127.0.0.1:0")),
			LogFile: s.dir.logFile("postgres"), EndWithStarter: true,
		})
		if err != nil {
			return nil, err
		}
		child := &cluster{server}
		if err := server.CreateDatabase(ctx, database); err != nil {
			return nil, errors.Join(err, server.Stop(ctx))
		}
		s.learn(func(i *Info) { i.DatabaseURL = server.URL(database) })
		return child, s.dir.remember("postgres", fmt.Sprintf("127.0.0.1:%d", server.Port))
	}}
}

func (s *Stack) needPostgres(ctx context.Context) error {
	_, err := pgserver.Find()
	if !errors.Is(err, pgserver.ErrNotFound) {
		return err
	}
	s.o.Say("PostgreSQL is not installed here; installing it")
	return pgserver.Install(ctx, os.Stderr)
}

// portOf is the port of an address; 0 = a free one.
func portOf(address string) int {
	_, port, _ := net.SplitHostPort(address)
	n, _ := strconv.Atoi(port) // what is no number is as good as none
	return n
}

// cluster shows a server as a child.
type cluster struct{ *pgserver.Server }

func (c *cluster) Pid() int           { return c.Server.Pid }
func (c *cluster) MetricsURL() string { return "" }
func (c *cluster) End() string        { return "ended" }
