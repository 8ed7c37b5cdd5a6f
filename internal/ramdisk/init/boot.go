//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
)

// boot makes the server usable and then goes on serving devices and leases. It returns only if it can't do that.
func boot() error {
	h, err := watch()
	if err != nil {
		return err
	}
	n, err := startNetwork()
	if err != nil {
		return err
	}
	network, err := findParameters(h.appear)
	if err != nil {
		return fmt.Errorf("find the parameters: %w", err)
	}
	n.follow(network)
	ready := os.NewFile(3, "ready")
	if _, err := ready.WriteString(readyLine); err != nil {
		return fmt.Errorf("tell process 1: %w", err)
	}
	if err := ready.Close(); err != nil {
		return errors.Join(errors.New("tell process 1"), err)
	}
	fmt.Println("the server is ready for its agent")
	select {} // devices and leases have their own goroutines
}
