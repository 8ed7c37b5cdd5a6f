// Package httpd is the HTTP server of the API: the table of routes, what every
// request passes before its handler (identity, deadline, origin, login,
// microversion), and how what a handler returns becomes an answer. It knows no
// resource.
package httpd
