// Package cli is the command line of operators: every command over the API. It asks package client, and prints
// what the API answers.
package cli
