package secret

import (
	"fmt"
	"strings"

	"go.temper.dev/temper/internal/mask"
	"go.temper.dev/temper/internal/node"
)

// MaskArgs takes the secrets out of the arguments of steps: by the name of an
// argument, and where the step says that one is secret. secrets are by step and
// JSON pointer and fit any plan that is merged from this one. steps is not changed.
func MaskArgs(n *node.Node, k node.OperationKind, steps []node.Step) (masked []node.Step, secrets map[string]any) {
	specs := map[string]node.StepSpec{}
	for _, s := range n.StepSpecs(k.Spec().Family) {
		specs[s.Name()] = s
	}
	secrets = map[string]any{}
	masked = make([]node.Step, len(steps))
	for i, s := range steps {
		if len(s.Args) > 0 {
			args, found := Mask(s.Args)
			for name, v := range args {
				if (specs[s.Name()].Args[name].Secret || s.Rule().Args[name].Secret) && v != mask.Masked {
					delete(found, "/"+escape(name))
					args[name] = maskValue(s.Args[name], "/"+escape(name), found)
				}
			}
			for path, v := range found {
				secrets[argsKey(steps, i)+path] = v
			}
			s.Args = args
		}
		masked[i] = s
	}
	return masked, secrets
}

// ClearArgs are the arguments of step i with the secrets of MaskArgs back in
// place, for the one who runs it.
func ClearArgs(steps []node.Step, i int, secrets map[string]any) map[string]any {
	if len(steps[i].Args) == 0 {
		return nil
	}
	prefix := argsKey(steps, i)
	mine := map[string]any{}
	for key, v := range secrets {
		if path, ok := strings.CutPrefix(key, prefix); ok && strings.HasPrefix(path, "/") {
			mine[path] = v
		}
	}
	return Unmask(steps[i].Args, mine)
}

// Lost returns the name of the first step that is still to run and whose arguments hold a mask for which secrets has no value.
// lost is false if there is none. The secrets are those of MaskArgs.
func Lost(steps []node.Step, secrets map[string]any) (name string, lost bool) {
	for i, s := range steps {
		if !s.Over() && mask.Within(ClearArgs(steps, i, secrets)) {
			return s.Name(), true
		}
	}
	return "", false
}

// argsKey names the arguments of step i in a way that survives steps being
// merged in: its name, and which one of that name it is.
func argsKey(steps []node.Step, i int) string {
	nth := 0
	for _, s := range steps[:i] {
		if s.Name() == steps[i].Name() {
			nth++
		}
	}
	return fmt.Sprintf("%s#%d", steps[i].Name(), nth)
}
