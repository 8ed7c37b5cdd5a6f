//go:build linux

package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/agent/failure"
	"go.temper.dev/temper/internal/jsonvalue"
)

// Files of Config.RescueDir. The first has the name that the ironic-python-agent gives it: the hash of the password, in the format of
// crypt(3). The other has public keys, as authorized_keys.
const (
	RescuePasswordFile = "ipa-rescue-password"
	RescueKeysFile     = "authorized_keys"
)

// finalizeRescue leaves what a person logs in with to the ramdisk, and ends the agent: the machine is the person's from then on.
func finalizeRescue(ctx context.Context, a *Agent, c *command, params json.RawMessage) (any, error) {
	if a.RescueDir == "" {
		return nil, failure.Execution("the ramdisk has no SSH server, so nobody could log in: boot one that was built for rescues")
	}
	var p agent.RescueParams
	if err := jsonvalue.Unmarshal(params, &p); err != nil {
		return nil, failure.BadParams("%s", err)
	}
	switch {
	case !p.Hashed || !strings.HasPrefix(p.Password, "$"):
		return nil, failure.BadParams("rescue_password must be a hash in the format of crypt(3), and hashed true")
	case strings.ContainsAny(p.Password, ":\n"):
		return nil, failure.BadParams("rescue_password has a colon or a line end in it")
	}
	if err := os.MkdirAll(a.RescueDir, 0o700); err != nil {
		return nil, fmt.Errorf("keep the rescue password: %w", err)
	}
	// The password comes last, because the ramdisk takes its file for the sign that all is there.
	for _, f := range []struct{ name, content string }{{RescueKeysFile, p.Keys}, {RescuePasswordFile, p.Password}} {
		if err := os.WriteFile(filepath.Join(a.RescueDir, f.name), []byte(f.content+"\n"), 0o600); err != nil {
			return nil, fmt.Errorf("keep the rescue password: %w", err)
		}
	}
	return end(Rescue)(ctx, a, c, params)
}
