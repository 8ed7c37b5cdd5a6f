// Package ironic answers Ironic's API, /v1: each resource in Ironic's shapes, in the
// microversions that have it. A handler parses, calls and answers.
package ironic
