// Package intent is what Ironic's resources and Temper's own have in common: it finds
// the node that a request is about, shows it together with the conductors, decides
// with the node's row locked what becomes of what is asked of it, and hands the
// operation to its workflow.
package intent
