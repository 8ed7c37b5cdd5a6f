// Package orchestrator has the activities that orchestrators run for the workflow of an operation. They
// read and write the database, and touch no hardware. Each may run twice.
package orchestrator
