// Package quirks shows that what the Redfish driver does for BMCs that differ from the
// standard is needed: without it a test of the driver fails. Rows of the driver's table of
// quirks are left out by the driver's own tests; here what is no row is taken out by patches
// of this folder. `make quirks` does all of it.
package quirks
