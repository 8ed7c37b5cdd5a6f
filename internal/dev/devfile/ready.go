package devfile

// Ready is what a process writes to its ready file once it serves. temporal-dev writes the first three fields, our roles the
// others.
type Ready struct {
	Address    string `json:"address,omitempty"` // host:port
	Namespace  string `json:"namespace,omitempty"`
	UIURL      string `json:"ui_url,omitempty"`
	URL        string `json:"url,omitempty"`
	MetricsURL string `json:"metrics_url,omitempty"`
	AgentURL   string `json:"agent_url,omitempty"` // of the listener of agents, where they have one of their own
	MediaURL   string `json:"media_url,omitempty"` // of the listener of CDs, likewise
	// TFTPAddress is host:port at which iPXE is served by TFTP.
	TFTPAddress string `json:"tftp_address,omitempty"`
}

// WriteReady writes a ready file.
func WriteReady(path string, r Ready) error { return WriteJSON(path, 0o644, r) }

// ReadReady reads a ready file. It is os.ErrNotExist while the process is not ready.
func ReadReady(path string) (Ready, error) {
	var r Ready
	return r, ReadJSON(path, &r)
}
