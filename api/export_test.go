package api

// Routes are the routes as gin has them, for the test that compares them with
// openapi.yaml.
func (s *Server) Routes() (out [][2]string) {
	for _, r := range s.engine.Routes() {
		out = append(out, [2]string{r.Method, r.Path})
	}
	return out
}

// Explained is what GET /temper/v1/nodes/X/why answers.
var Explained = explained

// Command is the command that does an action.
var Command = command
