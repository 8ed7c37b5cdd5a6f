//go:build linux

// Package imagewriter writes disk images: it streams one from a web server to a disk, verifies it, and makes what is on the disk
// complete with a config drive. It decides neither which image nor which disk.
package imagewriter
