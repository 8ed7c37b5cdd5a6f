package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/node"
)

// noting is what a deploy or a rebuild notes in instance_info before it is asked for.
type noting struct {
	event node.Event
	set   client.Patch
	drop  []string // keys that must not outlive what they were said of
}

// deploy notes the image and asks for the work. Where that is refused, instance_info is as it was before.
func (a *asker) deploy(ctx context.Context, name string, i noting, in client.Provision) (operation string, err error) {
	if len(i.set) == 0 {
		return a.Provision(ctx, name, in)
	}
	n, err := a.Node(ctx, name, "instance_info", "provision_state", "reservation", "maintenance", "protected")
	if err != nil {
		return "", err
	}
	if !i.admitted(n) {
		if err := a.refusalOf(ctx, name, in.Target); err != nil {
			return "", err
		}
	}
	before, err := infoOf(n)
	if err != nil {
		return "", err
	}
	changes := i.changes(before)
	if _, err := a.PatchNode(ctx, name, changes, false); err != nil {
		return "", fmt.Errorf("note the image: %w", err)
	}
	operation, err = a.Provision(ctx, name, in)
	if err == nil {
		return operation, nil
	}
	if !surelyRefused(err) {
		return "", fmt.Errorf("%w; what was noted in instance_info stays there", err)
	}
	return "", a.putBack(context.WithoutCancel(ctx), name, changes, before, err)
}

// admitted reports whether a node as it was looked at takes the verb, as far as a client can tell.
func (i noting) admitted(n *client.Node) bool {
	return node.Can(node.State(n.ProvisionState), i.event) && n.Reservation == "" && !n.Maintenance &&
		(i.event != node.EventRebuild || !n.Protected)
}

// guardWords is how the API refuses clean steps for a verb that has none. It looks at the node first.
const guardWords = `"clean_steps" is only valid`

// refusalOf has the API say why a node does not take a verb. A node may have changed since it was looked at, and must not
// get an older image then: the request names a parameter that is refused in every state. nil = the node takes it now.
func (a *asker) refusalOf(ctx context.Context, name, target string) error {
	_, err := a.Provision(ctx, name, client.Provision{Target: target, CleanSteps: []any{map[string]any{}}})
	switch {
	case err == nil:
		return errors.New("the API took a request that it must refuse: see what the node does")
	case client.StatusOf(err) == http.StatusBadRequest && strings.Contains(refusal(err), guardWords):
		return nil
	}
	return err
}

// infoOf is a node's instance_info, each value as it came.
func infoOf(n *client.Node) (map[string]json.RawMessage, error) {
	var doc struct {
		Info map[string]json.RawMessage `json:"instance_info"`
	}
	if err := json.Unmarshal(n.Raw(), &doc); err != nil {
		return nil, fmt.Errorf("read instance_info: %w", err)
	}
	for key, v := range doc.Info {
		if string(v) == "null" {
			delete(doc.Info, key)
		}
	}
	return doc.Info, nil
}

// infoPath is where PATCH has the keys of instance_info.
const infoPath = "/instance_info/"

// changes is the PATCH that notes the image.
func (i noting) changes(before map[string]json.RawMessage) client.Patch {
	var out client.Patch
	for _, key := range i.drop {
		if before[key] != nil {
			out = append(out, client.Remove(infoPath+key))
		}
	}
	return append(out, i.set...)
}

// surelyRefused reports whether a request that failed did nothing. A refusal that comes from the server's side may have
// been written down before it failed.
func surelyRefused(err error) bool {
	if kind, ok := client.KindOf(err); ok && kind == client.Unreached {
		return true
	}
	status := client.StatusOf(err)
	return status >= http.StatusBadRequest && status < http.StatusInternalServerError || status == http.StatusServiceUnavailable
}

// putBack undoes changes of instance_info after refused, and says what became of them.
func (a *asker) putBack(ctx context.Context, name string, changes client.Patch, before map[string]json.RawMessage, refused error) error {
	var back client.Patch
	var lost []string
	last := map[string]string{} // what the changes did last to a path
	for _, c := range changes {
		last[c.Path] = c.Op
	}
	for _, c := range changes {
		op, todo := last[c.Path]
		if !todo {
			continue
		}
		delete(last, c.Path)
		key := strings.TrimPrefix(c.Path, infoPath)
		switch was := before[key]; {
		case strings.Contains(string(was), `"`+node.Masked+`"`):
			lost = append(lost, key)
		case was != nil:
			back = append(back, client.Set(c.Path, was))
		case op != client.Remove("").Op:
			back = append(back, client.Remove(c.Path))
		}
	}
	if len(back) > 0 {
		if _, err := a.PatchNode(ctx, name, back, false); err != nil {
			return fmt.Errorf("%w; instance_info was changed and could not be put back: %s", refused, refusalOr(err))
		}
	}
	if lost != nil {
		return fmt.Errorf("%w; instance_info was put back but for %s, which was secret: give it anew", refused, strings.Join(lost, ", "))
	}
	return fmt.Errorf("%w; instance_info was put back as it was", refused)
}

// refusalOr are the API's words in err, else its own.
func refusalOr(err error) string {
	if w := refusal(err); w != "" {
		return w
	}
	return err.Error()
}
