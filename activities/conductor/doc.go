// Package conductor has the activities that conductors run: the steps that touch hardware and ramdisk
// agents, and the undo of what an operation left half done. A step reads the state of the hardware before
// it changes it, and may run twice. Every write and every request names the claim of its attempt.
package conductor
