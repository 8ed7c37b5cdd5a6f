package redfish

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"

	"go.temper.dev/temper/internal/recording"
	"go.temper.dev/temper/internal/sim/machine"
)

// recordingSuffix is how the name of a recording's file ends.
const recordingSuffix = ".json"

// recordedPersona returns the persona that answers from a recording. GET answers what was recorded, with the
// server's own power state, boot override, medium and identity. How the BMC takes changes is not recorded: it
// takes them as the standard says.
func recordedPersona(file string) (*Persona, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe must not stop the rack
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if about, err := f.Stat(); err != nil || !about.Mode().IsRegular() {
		return nil, errors.Join(errors.New("it is no file"), err)
	}
	r, err := recording.Read(f)
	if err != nil {
		return nil, err
	}
	p := &Persona{
		Name: file, About: strings.TrimSpace(r.Manufacturer + " " + r.Model), recorded: r,
		Parts: []Part{{"answers to GET", Recorded, file}, {"answers to changes", Guessed, ""}},
		Make:  machine.Make{Persona: file, Manufacturer: r.Manufacturer, Model: r.Model, BMCVersion: r.Firmware, AnyCD: true},
	}
	boot, _ := r.Resources[r.System]["Boot"].(m)
	p.targets = texts(boot["BootSourceOverrideTarget@Redfish.AllowableValues"])
	p.enables = texts(boot["BootSourceOverrideEnabled@Redfish.AllowableValues"])
	if at := recording.Link(r.Resources[root], "Links", "Sessions"); at != "" && at != sessions {
		p.moves = []move{{from: sessions, to: at}}
	}
	return p, nil
}

// texts returns the strings of a list, nil if it has none.
func texts(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, one := range list {
		if text, ok := one.(string); ok {
			out = append(out, text)
		}
	}
	return out
}

// recordedRoutes returns the resources of a recording.
func (p *Persona) recordedRoutes() map[string]resource {
	r := p.recorded
	all := map[string]resource{}
	for at, body := range r.Resources {
		all[at] = resource{get: func(c *call) (m, error) { return p.own(c.s, body), nil }}
	}
	for at, status := range r.Refused {
		all[at] = resource{get: func(*call) (m, error) { return nil, problem(status, "GeneralError") }}
	}
	maps.Copy(all, sessionRoutes())
	maps.Copy(all, map[string]resource{"/redfish": rootRoutes()["/redfish"], "/": rootRoutes()["/"]})
	all[r.System] = all[r.System].edited(func(c *call, body m) {
		body["PowerState"] = c.s.PowerState()
		showOverride(c, body)
	}).patchedBy(patchSystem)
	if at := recording.Link(r.Resources[r.System], "@Redfish.Settings", "SettingsObject"); bootOf(r.Resources[at]) != nil {
		all[at] = all[at].edited(showOverride).patchedBy(patchSystem)
	}
	p.addAction(all, r.System, "#ComputerSystem.Reset", postReset)
	for at := range r.Resources {
		p.addAction(all, at, "#Manager.Reset", postManagerReset)
		if types := texts(r.Resources[at]["MediaTypes"]); slices.Contains(types, "CD") || slices.Contains(types, "DVD") {
			p.addDrive(all, at)
		}
	}
	return all
}

// showOverride sets the boot override in a body that has one to the server's own.
func showOverride(c *call, body m) {
	if o := bootOf(body); o != nil {
		b := c.s.BootOverride()
		o["BootSourceOverrideTarget"], o["BootSourceOverrideEnabled"], o["BootSourceOverrideMode"] = b.Target, b.Enabled, b.Mode
	}
}

// patchedBy returns the resource with a PATCH.
func (res resource) patchedBy(patch func(*call, m) error) resource {
	res.patch = patch
	return res
}

// addAction adds an action where the resource at path says that it is, and reports whether it does.
func (p *Persona) addAction(all map[string]resource, path, action string, do func(*call, m) (reply, error)) bool {
	actions, _ := p.recorded.Resources[path]["Actions"].(m)
	one, _ := actions[action].(m)
	target, _ := one["target"].(string)
	at := recording.Path(target)
	if at == "" || at == path {
		return false
	}
	all[at] = resource{post: do}
	return true
}

// addDrive makes the virtual CD drive at path one that a medium can be inserted into and ejected from: by its actions, or by
// PATCH if it lacks one of them.
func (p *Persona) addDrive(all map[string]resource, path string) {
	d := drive{path: path, slot: path}
	res := all[path].edited(func(c *call, body m) {
		body["Inserted"], body["Image"] = false, nil
		if v := c.s.Media(); v.Inserted && v.Slot == path {
			body["Inserted"], body["Image"] = true, v.Image
		}
	})
	inserts := p.addAction(all, path, "#VirtualMedia.InsertMedia", d.insert)
	ejects := p.addAction(all, path, "#VirtualMedia.EjectMedia", d.eject)
	allow := p.recorded.Allow[path]
	if inserts != ejects || !inserts && (allow == "" || strings.Contains(allow, http.MethodPatch)) {
		res = res.patchedBy(d.patch)
	}
	all[path] = res
}

// patch inserts and ejects as drives without actions do.
func (d drive) patch(c *call, body m) error {
	image, there := body["Image"]
	switch {
	case there && image == nil || body["Inserted"] == false:
		_, err := d.eject(c, body)
		return err
	case !there:
		return problem(http.StatusBadRequest, "PropertyMissing", "Image")
	case body["Inserted"] != true:
		return problem(http.StatusBadRequest, "PropertyMissing", "Inserted")
	}
	delete(body, "Inserted")
	_, err := d.insert(c, body)
	return err
}

// own returns a copy of a recorded resource with the server's own serial number, UUID and MACs, so that
// many servers can answer from one recording.
func (p *Persona) own(s *machine.Server, body m) m {
	recorded := p.recorded.Resources[p.recorded.System]
	var pairs []string
	for name, own := range map[string]string{"UUID": s.UUID, "SerialNumber": s.Serial, "SKU": s.Serial} {
		if text, _ := recorded[name].(string); len(text) > 4 && text != p.recorded.Model {
			pairs = append(pairs, text, own)
		}
	}
	for i, mac := range p.macs() {
		if i < len(s.NICs) {
			pairs = append(pairs, mac, s.NICs[i].MAC)
		} else {
			pairs = append(pairs, mac, fmt.Sprintf("%s%02x", s.NICs[0].MAC[:len(s.NICs[0].MAC)-2], 0x80+i))
		}
	}
	replacer := strings.NewReplacer(pairs...)
	copied, _ := replaced(replacer, body).(m)
	return copied
}

// macs returns the recorded MACs of the system, in the order of the paths.
func (p *Persona) macs() []string {
	nics := recording.Link(p.recorded.Resources[p.recorded.System], "EthernetInterfaces")
	var out []string
	for _, at := range recording.Links(p.recorded.Resources[nics], "Members") {
		if mac, _ := p.recorded.Resources[at]["MACAddress"].(string); mac != "" && !slices.Contains(out, mac) {
			out = append(out, mac)
		}
	}
	return out
}

// replaced returns a copy of JSON with texts replaced in every string.
func replaced(by *strings.Replacer, v any) any {
	switch v := v.(type) {
	case m:
		out := m{}
		for name, one := range v {
			out[name] = replaced(by, one)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, one := range v {
			out[i] = replaced(by, one)
		}
		return out
	case string:
		return by.Replace(v)
	}
	return v
}
