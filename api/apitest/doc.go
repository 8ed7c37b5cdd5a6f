// Package apitest gives tests a whole API: routes, authentication and
// middleware over a real PostgreSQL. Only Temporal and the drivers are doubles.
// A test package that uses it needs
//
//	func TestMain(m *testing.M) { testenv.Main(m) }
package apitest
