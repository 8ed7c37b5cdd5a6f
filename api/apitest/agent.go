package apitest

import "go.temper.dev/temper/internal/node"

// MAC is the address of the port of WaitingWithPort.
const MAC = "52:54:00:aa:bb:01"

// WaitingWithPort makes a node that waits for its agent in a deploy and has a
// port, and returns its uuid.
func (b *Bench) WaitingWithPort(name string) string {
	b.T.Helper()
	uuid := b.In(name, node.DeployWait)
	b.SQL(`UPDATE nodes SET interfaces = interfaces || '{"deploy": "direct"}' WHERE uuid = $1`, uuid)
	b.Post("/v1/ports", map[string]any{"node_uuid": uuid, "address": MAC}).Is(201)
	return uuid
}

// Inspecting makes a node whose agent was booted to be inspected, and returns
// its uuid.
func (b *Bench) Inspecting(name string) string {
	b.T.Helper()
	uuid := b.In(name, node.InspectWait)
	b.SQL(`UPDATE nodes SET interfaces = interfaces || '{"inspect": "agent"}' WHERE uuid = $1`, uuid)
	b.SQL(`UPDATE operations SET steps = '[{"index":0,"interface":"inspect","step":"boot_agent","source":"core","state":"waiting","phase":"booted","attempts":1},
		{"index":1,"interface":"inspect","step":"collect","source":"core","state":"pending","attempts":0}]' WHERE node_uuid = $1 AND ended_at IS NULL`, uuid)
	return uuid
}

// Lookup asserts that an agent's lookup was answered, and returns the token,
// "" where there is none, and the node's uuid.
func (a *Answer) Lookup() (token, uuid string) {
	a.t.Helper()
	body := a.Is(200)
	token, _ = body["config"].(map[string]any)["agent_token"].(string)
	return token, body["node"].(map[string]any)["uuid"].(string)
}

// Heartbeat returns the body of an agent's heartbeat. more are names and values
// of further fields.
func Heartbeat(token string, more ...string) map[string]any {
	h := map[string]any{"callback_url": "http://10.0.0.5:9999", "agent_token": token, "agent_version": "11.5.0"}
	for i := 0; i < len(more); i += 2 {
		h[more[i]] = more[i+1]
	}
	return h
}
