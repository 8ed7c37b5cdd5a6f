// Package temper answers Temper's own API, /temper/v1: operations and what people do
// with them, the conductors and their ring, coverage, compute services. A handler
// parses, calls and answers.
package temper
