// Package hostile plays whoever is not trusted at real processes: a stranger at the API, a BMC, and the agent on a
// server. Each role has 512 MiB.
package hostile
