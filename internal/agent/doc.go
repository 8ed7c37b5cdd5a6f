// Package agent is the protocol of the ramdisk agent (ironic-python-agent): its types, a
// client, and the rules that need no I/O. It stores nothing, never decides when to send a
// request, and never retries.
//
// Both ends use the types: the API and the conductors on one side, the simulated agent on
// the other. The documents in testdata, which neither end generates, are from the real
// agent, and tests compare the types with them.
package agent
