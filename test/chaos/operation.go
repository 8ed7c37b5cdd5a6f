package main

import (
	"context"
	"errors"
	"fmt"

	"go.temper.dev/temper/test/stack"
)

// blamed returns an error if a step was put off because of deaths of conductors, as no step here is the reason for one.
func blamed(o stack.Operation) error {
	for _, s := range o.Steps {
		if s.PutOffs > 0 {
			return fmt.Errorf("%s.%s was put off %d times, as one that conductors die of", s.Interface, s.Step, s.PutOffs)
		}
	}
	return nil
}

// ended waits for the end of one operation.
func (l *lab) ended(ctx context.Context, id string) (o stack.Operation, err error) {
	err = stack.Await(ctx, patience, func() (err error) {
		if o, err = l.Operation(ctx, id); err == nil && o.State != "ended" {
			err = errors.New(o.String())
		}
		return err
	})
	return o, err
}
