package main

import (
	"time"

	"go.uber.org/zap"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/internal/config"
	"go.temper.dev/temper/internal/grants"
)

// authOf says who may use the API, and logs who may do everything.
func (p *process) authOf(c config.Auth) (api.Auth, error) {
	a := api.Auth{Strategy: c.Strategy, File: c.HtpasswdFile}
	if c.AccessFile != "" {
		f, err := grants.Open(c.AccessFile, time.Now, p.log)
		if err != nil {
			return a, err
		}
		a.Assign = f.Assign
	} else if c.Strategy == config.HTTPBasic {
		p.log.Warn("auth.access_file is not set: everybody with a name and a password may do everything", zap.String("htpasswd_file", c.HtpasswdFile))
	}
	return a, nil
}
