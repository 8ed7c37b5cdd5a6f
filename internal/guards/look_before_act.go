//go:build !without_look_before_act

package guards

// LookBeforeAct holds that the hardware is read before it is asked to change (activities).
const LookBeforeAct = true
