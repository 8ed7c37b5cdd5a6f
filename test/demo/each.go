package main

import "golang.org/x/sync/errgroup"

// each does f for all names at once and returns the first error.
func each(names []string, f func(string) error) error {
	var g errgroup.Group
	for _, name := range names {
		g.Go(func() error { return f(name) })
	}
	return g.Wait()
}
