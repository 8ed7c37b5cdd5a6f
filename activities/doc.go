// Package activities has what the activities of all roles share: how their errors become Temporal's, and
// how a workflow shows steps. The activities are in the packages below it:
//
//   - conductor: what conductors do, the steps that touch hardware and agents
//   - orchestrator: what orchestrators do, activities that read and write only the database
//   - reconcile: the parts of the scheduled reconciliation
//
// An activity looks before it acts, and may run twice. It never decides what comes next, and never reaches
// PostgreSQL or a BMC library itself: package worker hands in the real ones.
package activities
