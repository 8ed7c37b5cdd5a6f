// Package archtest holds the rules of who may import whom, as a test. It is
// never imported.
package archtest
