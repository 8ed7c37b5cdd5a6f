// Package recording is the file in which the answers of one BMC are kept. "temper bmc probe --record"
// writes it, and the simulated rack answers from it. What would tell whose machine it is is masked.
package recording

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"go.temper.dev/temper/internal/jsonvalue"
)

const (
	format       = "temper-bmc-recording/1"
	maxFile      = 64 << 20 // bytes
	maxResources = 10_000
)

// Root is the path at which every Redfish service begins (DSP0266, 6.2).
const Root = "/redfish/v1"

// Recording is what a BMC answered to GET.
type Recording struct {
	Format       string `json:"format"`
	Vendor       string `json:"vendor,omitempty"`       // of the service root
	Product      string `json:"product,omitempty"`      // of the service root
	Manufacturer string `json:"manufacturer,omitempty"` // of the system
	Model        string `json:"model,omitempty"`        // of the system
	Firmware     string `json:"firmware,omitempty"`     // of the manager
	System       string `json:"system"`                 // path of the system
	// Resources are the answers by path, without a slash at the end.
	Resources map[string]Resource `json:"resources"`
	// Allow are the headers Allow of the answers that had one.
	Allow map[string]string `json:"allow,omitempty"`
	// Refused are the statuses of the paths that were answered with no resource.
	Refused map[string]int `json:"refused,omitempty"`
	// LeftOut is how many paths were not read, because there were too many.
	LeftOut int `json:"left_out,omitempty"`
}

// Resource is the JSON object of a resource.
type Resource = map[string]any

// New returns a recording without resources.
func New() *Recording {
	return &Recording{Format: format, Resources: map[string]Resource{}, Allow: map[string]string{}, Refused: map[string]int{}}
}

// Paths returns the paths of the resources in order.
func (r *Recording) Paths() []string { return slices.Sorted(maps.Keys(r.Resources)) }

// Write writes the recording as JSON: indented, unless it is too large for Read that way. It refuses a recording that Read would refuse.
func (r *Recording) Write(w io.Writer) error {
	if err := r.check(); err != nil {
		return err
	}
	for _, indent := range []string{" ", ""} {
		var text bytes.Buffer
		e := json.NewEncoder(&text)
		e.SetIndent("", indent)
		e.SetEscapeHTML(false)
		if err := e.Encode(r); err != nil {
			return err
		}
		if text.Len() <= maxFile {
			_, err := text.WriteTo(w)
			return err
		}
	}
	return errTooLarge
}

var errTooLarge = fmt.Errorf("it has more than %d MiB", maxFile>>20)

// Read reads a recording of at most 64 MiB and 10,000 resources. An error says what is wrong with it.
func Read(from io.Reader) (*Recording, error) {
	b, err := io.ReadAll(io.LimitReader(from, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxFile {
		return nil, errTooLarge
	}
	r := &Recording{}
	if err := jsonvalue.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("it is no recording: %w", err)
	}
	return r, r.check()
}

func (r *Recording) check() error {
	switch {
	case r.Format != format:
		return fmt.Errorf("its format is %.40q, want %q", r.Format, format)
	case len(r.Resources) > maxResources:
		return fmt.Errorf("it has %d resources, at most %d are read", len(r.Resources), maxResources)
	case r.Resources[Root] == nil:
		return fmt.Errorf("it has no resource %s", Root)
	case r.System == "" || r.Resources[r.System] == nil:
		return fmt.Errorf("it has no resource of its system %.80q", r.System)
	}
	for at := range r.Resources {
		if path.Clean(at) != at || at != Root && !strings.HasPrefix(at, Root+"/") || strings.ContainsAny(at, "{}?# \t\r\n") {
			return fmt.Errorf("%.80q is no path of a resource", at)
		}
	}
	return nil
}

// Link returns the path to which a property of a resource links, "" if there is none. The names lead
// from object to object.
func Link(of Resource, names ...string) string {
	var v any = of
	for _, name := range names {
		o, _ := v.(map[string]any)
		v = o[name]
	}
	return linkOf(v)
}

// Links returns the paths of a list of links.
func Links(of Resource, names ...string) []string {
	var v any = of
	for _, name := range names {
		o, _ := v.(map[string]any)
		v = o[name]
	}
	list, _ := v.([]any)
	var out []string
	for _, one := range list {
		if at := linkOf(one); at != "" {
			out = append(out, at)
		}
	}
	return out
}

func linkOf(v any) string {
	o, _ := v.(map[string]any)
	at, _ := o["@odata.id"].(string)
	return Path(at)
}

// Path returns the path of a link, without its fragment and without a slash at the end. It is "" if the
// link leads out of the service.
func Path(link string) string {
	at, _, _ := strings.Cut(link, "#")
	at = strings.TrimRight(at, "/")
	if at != Root && !strings.HasPrefix(at, Root+"/") || strings.ContainsAny(at, "?{} \t\r\n") || path.Clean(at) != at {
		return ""
	}
	return at
}

// LinksIn returns all paths to which a resource links, in the order of the names of its properties.
func LinksIn(v any) []string {
	switch v := v.(type) {
	case map[string]any:
		var out []string
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if text, ok := v[name].(string); ok && (name == "@odata.id" || strings.HasSuffix(name, "@odata.nextLink")) {
				if at := Path(text); at != "" {
					out = append(out, at)
				}
				continue
			}
			out = append(out, LinksIn(v[name])...)
		}
		return out
	case []any:
		var out []string
		for _, one := range v {
			out = append(out, LinksIn(one)...)
		}
		return out
	}
	return nil
}
