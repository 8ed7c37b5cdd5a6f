// Package clitest makes answers of the API for tests of the command line.
package clitest
