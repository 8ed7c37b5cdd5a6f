// Package reconcile has the activity of the scheduled reconciliation. It compares the database with Temporal
// and with which conductors are alive, and mends what differs. Its parts are a file each, and may run twice.
package reconcile
