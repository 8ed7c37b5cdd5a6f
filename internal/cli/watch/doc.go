// Package watch follows operations over the API until they have come to what was asked of them, and shows how far they are.
package watch
