// Package events streams what happens to nodes and operations, in the order of the events' numbers. It reads the events through
// interfaces; package store has them in PostgreSQL.
//
// A number (Event.Seq) is given out when an event is written, and its transaction commits later. So when number 7 is visible,
// number 6 may still come, or never come because its transaction was rolled back. A reader that has passed 6 would miss it. This
// package therefore never reads beyond what is settled (Horizon): a number is settled if no transaction is open that may still
// commit it or a lower one. The open transactions that write events are known from their locks of the table, which they hold
// until they end. Other transactions, such as those of a backup, of autovacuum or of another database in the same cluster, hold
// nobody up. That is why a number is not compared with the oldest running transaction (pg_snapshot_xmin), which any transaction
// in the cluster can hold back, and whose ids begin anew when a dump is restored.
package events
