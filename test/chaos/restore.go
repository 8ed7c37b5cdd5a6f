package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/test/stack"
)

// discard takes a subject out of use until restore, because its state is unknown.
func (l *lab) discard(s *subject) {
	l.nodes = slices.DeleteFunc(slices.Clone(l.nodes), func(one *subject) bool { return one == s })
	l.spoilt = append(l.spoilt, s)
}

// restore brings discarded subjects back into use. Those of the error stay out of use.
func (l *lab) restore(ctx context.Context) (err error) {
	if len(l.spoilt) == 0 {
		return nil
	}
	spoilt := l.spoilt
	l.spoilt, l.group = nil, ""
	l.restored++
	c, err := l.conductor(ctx, fmt.Sprintf("restorer-%d", l.restored))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.end()) }()
	whole := make([]bool, len(spoilt))
	err = each(spoilt, func(i int, s *subject) error {
		err := errors.Join(l.remove(ctx, s), l.enrollClean(ctx, s))
		if whole[i] = err == nil; err != nil {
			err = fmt.Errorf("restore %s: %w", s.server, err)
		}
		return err
	})
	for i, s := range spoilt {
		if whole[i] {
			l.nodes = append(l.nodes, s)
		}
	}
	return err
}

// remove takes the faults of a subject's server away, ends the operation of its node, and deletes the node.
func (l *lab) remove(ctx context.Context, s *subject) error {
	if err := l.Spoil(ctx, s.server, nil); err != nil || s.uuid == "" {
		return err
	}
	all, err := l.Operations(ctx, "node="+s.uuid)
	if err != nil {
		return err
	}
	if err := l.Call(ctx, http.MethodPut, "/v1/nodes/"+s.uuid+"/maintenance", nil, nil); err != nil {
		return err
	}
	for _, o := range all {
		if o.State == "ended" {
			continue
		}
		cancel := l.Call(ctx, http.MethodPost, "/temper/v1/operations/"+o.ID+"/cancel", map[string]any{"reason": "its server is needed"}, nil)
		if _, err := l.ended(ctx, o.ID); err != nil {
			return errors.Join(cancel, err)
		}
	}
	if err := stack.Await(ctx, patience, func() error { return l.Call(ctx, http.MethodDelete, "/v1/nodes/"+s.uuid, nil, nil) }); err != nil {
		return err
	}
	s.uuid = ""
	return nil
}

// enrollClean enrols a server that has no node, and cleans it, which leaves it off, without media and boot override.
func (l *lab) enrollClean(ctx context.Context, s *subject) error {
	if err := l.enroll(ctx, s); err != nil {
		return err
	}
	for _, k := range []kind{{verb: "manage"}, {verb: "clean", body: map[string]any{"clean_steps": asked}}} {
		id, err := l.ask(ctx, s, k)
		if err != nil {
			return err
		}
		o, err := l.ended(ctx, id)
		if err == nil && o.Outcome != string(node.Succeeded) {
			err = errors.New(o.String())
		}
		if err != nil {
			return fmt.Errorf("%s a node of its server: %w", k.verb, err)
		}
	}
	return nil
}
