package api

// Routes returns the routes of the table, for the test that compares them with
// openapi.yaml.
func (s *Server) Routes() (out [][2]string) {
	for _, r := range s.http.Routes() {
		out = append(out, [2]string{r.Method, r.Path})
	}
	return out
}
