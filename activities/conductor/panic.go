package conductor

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"go.uber.org/zap"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/mask"
	"go.temper.dev/temper/internal/node"
)

// call runs a step. If it panics, that is a failure of the step, which is recorded on it.
// Otherwise Temporal would try the step again for ever, and nobody would see why.
func (t *task) call(ctx context.Context, run stepFunc, step *node.Step) (o outcome, err error) {
	defer t.recovered("step "+step.Name(), &err)
	return run(ctx, t, step)
}

// recovered makes a panic the error err. It is deferred.
func (t *task) recovered(what string, err *error) {
	p := recover()
	if p == nil {
		return
	}
	*err = fault.New(fault.Internal, "node %s: %s panicked: %s", t.node.UUID, what, t.withoutSecrets(fmt.Sprint(p)))
	t.log.Error("a panic was recovered", zap.String("in", what), zap.Error(*err), zap.ByteString("stack", debug.Stack()))
}

// withoutSecrets masks the node's secrets in a text that somebody else has made.
func (t *task) withoutSecrets(text string) string { return withoutSecrets(t.sealed, text) }

// withoutSecrets masks the secrets of a node in a text.
func withoutSecrets(sealed node.Secrets, text string) string {
	var secrets []string
	for _, v := range sealed {
		secrets = appendStrings(secrets, v)
	}
	// The longest first: one secret may be part of another.
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	for _, s := range secrets {
		text = strings.ReplaceAll(text, s, mask.Masked)
	}
	return text
}

// appendStrings appends the strings that v consists of, but for empty ones.
func appendStrings(list []string, v any) []string {
	switch v := v.(type) {
	case string:
		if v != "" {
			list = append(list, v)
		}
	case []any:
		for _, one := range v {
			list = appendStrings(list, one)
		}
	case map[string]any:
		for _, one := range v {
			list = appendStrings(list, one)
		}
	}
	return list
}
