//go:build without_look_before_act

package guards

// LookBeforeAct is down.
const LookBeforeAct = false
