// Package agent is the protocol of the ramdisk agent (ironic-python-agent) as
// it stands on the wire, a client for one agent, and the pure rules around it.
// It never stores anything, never decides when to ask, and never retries.
//
// The wire types serve both ends: our API and conductors on one side, the
// simulated agent on the other. What holds them to the real agent are the
// documents in testdata, which neither end generates.
package agent
