package redfish

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path"

	"go.temper.dev/temper/internal/sim/machine"
)

const (
	media = manager + "/VirtualMedia"
	cd    = media + "/Cd"
)

func mediaRoutes() map[string]resource {
	all := map[string]resource{
		media: {get: func(*call) (m, error) { return collection(media, "VirtualMedia", "Virtual Media", cd), nil }},
	}
	maps.Copy(all, drive{path: cd, id: "Cd"}.routes())
	return all
}

// drive is a virtual CD drive of a BMC.
type drive struct {
	path string
	id   string
	slot string   // "" is the drive that can be booted
	ask  []string // parameters that InsertMedia refuses to be without
	not  []string // parameters that InsertMedia refuses
}

// routes returns the drive's resource and its actions.
func (d drive) routes() map[string]resource {
	return map[string]resource{
		d.path: {get: d.get},
		d.path + "/Actions/VirtualMedia.InsertMedia": {post: d.insert},
		d.path + "/Actions/VirtualMedia.EjectMedia":  {post: d.eject},
	}
}

func (d drive) get(c *call) (m, error) {
	v := c.s.Media()
	if v.Slot != d.slot {
		v = machine.Media{}
	}
	out := m{
		"@odata.type": "#VirtualMedia.v1_6_3.VirtualMedia", "@odata.id": d.path, "Id": d.id, "Name": "Virtual CD",
		"MediaTypes": []string{"CD", "DVD"}, "Inserted": v.Inserted, "ConnectedVia": "NotConnected", "Image": nil, "ImageName": nil,
		"WriteProtected": true, "Status": enabled,
		"Actions": m{
			"#VirtualMedia.InsertMedia": m{"target": d.path + "/Actions/VirtualMedia.InsertMedia"},
			"#VirtualMedia.EjectMedia":  m{"target": d.path + "/Actions/VirtualMedia.EjectMedia"},
		},
	}
	if v.Inserted {
		out["ConnectedVia"], out["Image"], out["ImageName"], out["WriteProtected"] = "URI", v.Image, path.Base(v.Image), v.WriteProtected
	}
	return out, nil
}

func (d drive) eject(c *call, _ m) (reply, error) {
	if c.s.Media().Slot == d.slot {
		c.s.EjectMedia()
	}
	return reply{}, nil
}

const insertAction = "VirtualMedia.InsertMedia"

func (d drive) insert(c *call, body m) (reply, error) {
	for _, name := range d.not {
		if _, there := body[name]; there {
			return reply{}, problem(http.StatusBadRequest, "ActionParameterUnknown", insertAction, name)
		}
	}
	for _, name := range append([]string{"Image"}, d.ask...) {
		if text, _ := body[name].(string); text == "" {
			return reply{}, problem(http.StatusBadRequest, "ActionParameterMissing", insertAction, name)
		}
	}
	image, _ := body["Image"].(string)
	u, err := url.Parse(image)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return reply{}, problem(http.StatusBadRequest, "ActionParameterValueTypeError", image, "Image", insertAction)
	}
	protect := true
	for k, to := range map[string]*bool{"WriteProtected": &protect, "Inserted": new(bool)} {
		if v, there := body[k]; there {
			var ok bool
			if *to, ok = v.(bool); !ok {
				return reply{}, problem(http.StatusBadRequest, "ActionParameterValueTypeError", fmt.Sprint(v), k, insertAction)
			}
		}
	}
	do := func() error { return insert(c.s, image, d.slot, protect) }
	if c.s.TasksEnabled() {
		return accepted(c.s.StartTask(insertAction, do)), nil
	}
	return reply{}, do()
}

func insert(s *machine.Server, image, slot string, protect bool) error {
	err := s.InsertMedia(image, slot, protect)
	switch {
	case errors.Is(err, machine.ErrMediaInUse):
		return problem(http.StatusConflict, "ResourceInUse")
	case err != nil:
		return problem(http.StatusBadRequest, "CouldNotEstablishConnection", image, err.Error())
	}
	return nil
}
