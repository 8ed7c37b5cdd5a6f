// Package hostile attacks real processes as those do whom Temper does not trust: an unknown client of the API, a BMC, and the
// agent on a server. Each role has 512 MiB.
package hostile
