package node

import (
	"fmt"
	"strconv"
	"time"
)

// ConsoleSocat is the type of a console that a TCP port of a conductor gives to one client at a time, byte by byte. The name is
// Ironic's.
const ConsoleSocat = "socat"

// HasConsole reports whether the console of n can be enabled.
func (n *Node) HasConsole() bool {
	switch n.Implementation("console").Means {
	case MeansBMC, MeansFake:
		return true
	}
	return false
}

// ConsolePort returns the TCP port that driver_info fixes for the console of n; 0 = none. The driver has checked it.
func (n *Node) ConsolePort() int {
	v, fixed := n.DriverInfo[n.Implementation("console").ConsolePort]
	if !fixed {
		return 0
	}
	port, _ := strconv.Atoi(fmt.Sprint(v)) // a number, or a string with one
	return port
}

// Console is what the conductor that holds the console of a node tells of it. The zero value means that no live conductor holds it.
type Console struct {
	Conductor string
	Claim     int64      // of ConsoleHeld: a new one each time that a conductor begins to hold the console
	Address   string     // host:port at which the conductor listens; "" = it could not
	Error     string     // why the last try to listen or to open the BMC's console failed; "" = it did not
	ErrorAt   *time.Time // of Error
	NextAt    *time.Time // when it is tried again; nil = with the next client
}

// URL returns the URL of the console, as Ironic writes that of type socat; "" = its conductor could not listen.
func (c Console) URL() string {
	if c.Address == "" {
		return ""
	}
	return "tcp://" + c.Address
}

// ConsoleOwned is a console that is enabled, of a node that a conductor owns.
type ConsoleOwned struct {
	ID           int64      // of the node
	Claim        int64      // with which the conductor holds it; 0 = it does not
	ReachedSince *time.Time // Node.ReachedSince
}

// ConsoleHeld is a console right after a conductor has claimed it.
type ConsoleHeld struct {
	Node
	Claim int64 // only the newest claim of a console may write anything
	// Left says that the holder before may have left a session at the BMC that has the console.
	Left bool
}

// ConsoleState is what the holder of a console writes about it.
type ConsoleState struct {
	ID, Claim int64
	Address   string // as in Console
	Session   bool   // a session with the BMC may have its console
	Error     string // as in Console; "" drops the one before
	// Pause is how long nothing is tried after Error; 0 = until the next client comes.
	Pause time.Duration
}
