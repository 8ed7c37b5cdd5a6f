package redfish

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"time"

	"go.temper.dev/temper/internal/sim/machine"
)

func sessionRoutes() map[string]resource {
	return map[string]resource{
		root + "/SessionService": {get: getSessionService, patch: patchSessionService},
		sessions:                 {get: getSessions, post: postSession},
		// The old address of the same collection, which DSP0266 still asks for.
		sessions + "/Members": {post: postSession},
		sessions + "/{id}":    {get: getSession, delete: deleteSession},
	}
}

// authorize follows DSP0266 13.3: the root and logging in are open, all else
// needs a session's token or the account's name and password.
func authorize(r *http.Request, s *machine.Server) error {
	switch r.URL.Path {
	case "/redfish", root, root + "/odata", root + "/$metadata":
		return nil
	case sessions, sessions + "/Members":
		if r.Method == http.MethodPost {
			return nil
		}
	}
	if token := r.Header.Get("X-Auth-Token"); token != "" {
		if s.CheckToken(token) {
			return nil
		}
		return problem(http.StatusUnauthorized, "NoValidSession")
	}
	if user, password, ok := r.BasicAuth(); ok && s.CheckPassword(user, password) {
		return nil
	}
	return problem(http.StatusUnauthorized, "NoValidSession")
}

func getSessionService(c *call) (m, error) {
	return m{
		"@odata.type": "#SessionService.v1_1_9.SessionService", "@odata.id": root + "/SessionService",
		"Id": "SessionService", "Name": "Session Service", "ServiceEnabled": true, "Status": enabled,
		"SessionTimeout": int(c.s.SessionTimeout().Seconds()), "Sessions": ref(sessions),
	}, nil
}

// The schema's bounds of SessionTimeout, in seconds.
const minSessionTimeout, maxSessionTimeout = 30, 86400

func patchSessionService(c *call, body m) error {
	seconds := 0.0
	for k, v := range body {
		if k != "SessionTimeout" {
			return unwritable(c, getSessionService, k)
		}
		n, ok := v.(float64)
		if !ok || n != math.Trunc(n) {
			return problem(http.StatusBadRequest, "PropertyValueTypeError", fmt.Sprint(v), k)
		}
		if n < minSessionTimeout || n > maxSessionTimeout {
			return problem(http.StatusBadRequest, "PropertyValueOutOfRange", fmt.Sprint(v), k)
		}
		seconds = n
	}
	if seconds > 0 {
		c.s.SetSessionTimeout(time.Duration(seconds) * time.Second)
	}
	return nil
}

func getSessions(c *call) (m, error) {
	var members []string
	for _, n := range c.s.Sessions() {
		members = append(members, sessions+"/"+n.ID)
	}
	return collection(sessions, "Session", "Session Collection", members...), nil
}

func postSession(c *call, body m) (reply, error) {
	user, ok := body["UserName"].(string)
	if !ok {
		return reply{}, problem(http.StatusBadRequest, "ActionParameterMissing", "Session", "UserName")
	}
	password, _ := body["Password"].(string)
	n, err := c.s.Login(user, password)
	switch {
	case errors.Is(err, machine.ErrCredentials):
		return reply{}, problem(http.StatusUnauthorized, "NoValidSession")
	case errors.Is(err, machine.ErrSessionLimit):
		return reply{}, c.p.sessionsFull()
	}
	return reply{
		status: http.StatusCreated, location: sessions + "/" + n.ID,
		header: map[string]string{"X-Auth-Token": n.Token}, body: session(c, n),
	}, nil
}

func getSession(c *call) (m, error) {
	for _, n := range c.s.Sessions() {
		if n.ID == c.PathValue("id") {
			return session(c, n), nil
		}
	}
	return nil, missing(c)
}

func deleteSession(c *call) error {
	if !c.s.Logout(c.PathValue("id")) {
		return missing(c)
	}
	return nil
}

func session(c *call, n machine.Session) m {
	return m{
		"@odata.type": "#Session.v1_7_1.Session", "@odata.id": sessions + "/" + n.ID, "Id": n.ID, "Name": "Session " + n.ID,
		"UserName": n.User, "CreatedTime": n.Created.UTC().Format(time.RFC3339),
	}
}
