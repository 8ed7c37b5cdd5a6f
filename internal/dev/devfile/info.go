package devfile

// Info is dev.json, which says where everything is, for people and scripts. The file exists only while the stack is ready, and it
// is kept up to date.
type Info struct {
	APIURL            string    `json:"api_url"`
	DashboardURL      string    `json:"dashboard_url"` // "" while there is none
	TemporalAddress   string    `json:"temporal_address"`
	TemporalNamespace string    `json:"temporal_namespace"`
	TemporalReconcile string    `json:"temporal_reconcile_namespace"` // of the reconciliations
	TemporalUIURL     string    `json:"temporal_ui_url"`
	DatabaseURL       string    `json:"database_url"` // with its password: the file is its owner's only
	RackURL           string    `json:"rack_url"`
	Processes         []Process `json:"processes"` // that run now
}

// InfoFile is where the stack in a data folder writes its Info.
const InfoFile = "dev.json"

// SettingsFile is where the stack in a data folder writes the settings of its roles.
const SettingsFile = "temper.yaml"

// ReadInfo reads a dev.json. It is os.ErrNotExist while the stack is not ready.
func ReadInfo(path string) (Info, error) {
	var i Info
	return i, ReadJSON(path, &i)
}

// Process is a child as dev.json shows it.
type Process struct {
	Role       string  `json:"role"`
	Name       string  `json:"name"`
	Pid        int     `json:"pid"`
	MetricsURL *string `json:"metrics_url"` // null = it has none
}
