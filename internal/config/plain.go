package config

import (
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"go.temper.dev/temper/internal/origin"
)

// requireDatabase requires a database, and TLS on the way to it unless plain allows that everybody on the way reads along: the
// password of its user, and what operators write into nodes.
func (p *problems) requireDatabase(url string, plain bool) {
	switch {
	case url == "":
		p.refuse("database_url", "want postgres://user:password@host:port/database")
	case !plain && plainDatabase(url):
		p.refuse("database_url", "want sslmode=verify-full (and sslrootcert) in it, because the connection could be without TLS; "+
			"database_plain allows that, where an internal network protects it")
	}
}

// plainDatabase reports whether a connection may cross the network in the clear, also where that is only the second try (libpq's
// sslmode prefer, its default). A URL that can't be read is refused later, by whoever connects.
func plainDatabase(url string) bool {
	c, err := pgconn.ParseConfig(url)
	if err != nil {
		return false
	}
	here := func(host string) bool { return strings.HasPrefix(host, "/") || origin.LoopbackHost(host) }
	if c.TLSConfig == nil && !here(c.Host) {
		return true
	}
	for _, f := range c.Fallbacks {
		if f.TLSConfig == nil && !here(f.Host) {
			return true
		}
	}
	return false
}

// plain reports whether the connection crosses the network in the clear.
func (c Temporal) plain() bool { return !c.TLS() && !origin.Loopback(c.Address) }

// Allowed returns the settings of a role that allow what crosses the network in the clear, and that are needed for it.
func Allowed(r Role) (keys []string) {
	if d, ok := r.(interface{ plainDatabase() bool }); ok && d.plainDatabase() {
		keys = append(keys, "database_plain")
	}
	if t, ok := r.(interface{ plain() bool }); ok && t.plain() {
		keys = append(keys, "temporal_plain")
	}
	return keys
}

func (c Database) plainDatabase() bool { return plainDatabase(c.URL) }
func (r *Migrate) plainDatabase() bool { return plainDatabase(r.URL) }
