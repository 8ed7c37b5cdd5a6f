// Package lockwait has requests wait that meet a node which an operation holds for a moment only, such as a change of power.
// Ironic does the same: it tries a locked node again, node_locked_retry_attempts times, before it answers 409.
//
// The requests of one process for one node wait in a queue, in the order in which they came. Only the first one tries, when an
// operation of the node has ended, and the next one when the first has gone. In case it does not hear of the end, it also tries
// once a second. So however many wait, the database gets one request at a time for each node.
package lockwait
