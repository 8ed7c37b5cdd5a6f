// Package api is the HTTP edge: Ironic's /v1 in Ironic's shapes, and our own
// additions under /temper/v1. A handler parses, calls and answers; it never
// runs SQL, never speaks to Temporal or to a BMC, and never decides what the
// life cycle allows (package node does).
package api
