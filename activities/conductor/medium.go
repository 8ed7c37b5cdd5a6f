package conductor

import (
	"context"
	"strings"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/medium"
	"go.temper.dev/temper/internal/node"
)

// ramdisk returns from what the operation boots its agent by virtual media.
func (t *task) ramdisk() (node.Ramdisk, error) {
	return t.Settings.Boot.Ramdisk(t.node, t.op.Kind.Spec().Family, t.driverInfo, t.instanceInfo)
}

// beginBoot lets the agent be looked up from now on, and returns the URL of the ISO that boots it: the node's own, or that of the
// medium that the API makes for this boot. It may run twice, and returns the same URL.
func (t *task) beginBoot(ctx context.Context, r node.Ramdisk) (iso string, err error) {
	if r.ISO != "" {
		_, err := t.Store.BeginBoot(ctx, t.op.ID, t.claim, nil)
		return r.ISO, err
	}
	token, err := t.Store.BeginBoot(ctx, t.op.ID, t.claim, &node.BootMedium{
		Medium: t.medium(r), Token: agent.NewToken(), KeyHash: func(token string) []byte { return medium.Hash(medium.Key(token)) },
	})
	if err != nil {
		return "", err
	}
	return medium.URL(r.Site.MediaURL, medium.Key(token)), nil
}

// medium is what the medium of this boot tells the agent.
func (t *task) medium(r node.Ramdisk) node.Medium {
	api := strings.TrimRight(r.Site.AgentURL, "/")
	m := node.Medium{Kernel: r.Files.Kernel, Initrd: r.Files.Initrd, APIURLs: []string{api}, Append: r.Site.Append, NetworkData: t.node.NetworkData}
	if t.op.Kind.Spec().Family == node.InspectFamily {
		m.InspectionURL = api + "/v1/continue_inspection"
	}
	return m
}
