package redfish

import (
	"errors"
	"fmt"
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
	return map[string]resource{
		media:                                    {get: func(*call) (m, error) { return collection(media, "VirtualMedia", "Virtual Media", cd), nil }},
		cd:                                       {get: getCD},
		cd + "/Actions/VirtualMedia.InsertMedia": {post: postInsert},
		cd + "/Actions/VirtualMedia.EjectMedia": {post: func(c *call, _ m) (reply, error) {
			c.s.EjectMedia()
			return reply{}, nil
		}},
	}
}

func getCD(c *call) (m, error) {
	v := c.s.Media()
	out := m{
		"@odata.type": "#VirtualMedia.v1_6_3.VirtualMedia", "@odata.id": cd, "Id": "Cd", "Name": "Virtual CD",
		"MediaTypes": []string{"CD", "DVD"}, "Inserted": v.Inserted, "ConnectedVia": "NotConnected", "Image": nil, "ImageName": nil,
		"WriteProtected": true, "Status": enabled,
		"Actions": m{
			"#VirtualMedia.InsertMedia": m{"target": cd + "/Actions/VirtualMedia.InsertMedia"},
			"#VirtualMedia.EjectMedia":  m{"target": cd + "/Actions/VirtualMedia.EjectMedia"},
		},
	}
	if v.Inserted {
		out["ConnectedVia"], out["Image"], out["ImageName"], out["WriteProtected"] = "URI", v.Image, path.Base(v.Image), v.WriteProtected
	}
	return out, nil
}

func postInsert(c *call, body m) (reply, error) {
	const action = "VirtualMedia.InsertMedia"
	image, ok := body["Image"].(string)
	if !ok {
		return reply{}, problem(http.StatusBadRequest, "ActionParameterMissing", action, "Image")
	}
	u, err := url.Parse(image)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return reply{}, problem(http.StatusBadRequest, "ActionParameterValueTypeError", image, "Image", action)
	}
	protect := true
	for k, to := range map[string]*bool{"WriteProtected": &protect, "Inserted": new(bool)} {
		if v, there := body[k]; there {
			if *to, ok = v.(bool); !ok {
				return reply{}, problem(http.StatusBadRequest, "ActionParameterValueTypeError", fmt.Sprint(v), k, action)
			}
		}
	}
	do := func() error { return insert(c.s, image, protect) }
	if c.s.TasksEnabled() {
		return accepted(c.s.StartTask(action, do)), nil
	}
	return reply{}, do()
}

func insert(s *machine.Server, image string, protect bool) error {
	err := s.InsertMedia(image, protect)
	switch {
	case errors.Is(err, machine.ErrMediaInUse):
		return problem(http.StatusConflict, "ResourceInUse")
	case err != nil:
		return problem(http.StatusBadRequest, "CouldNotEstablishConnection", image, err.Error())
	}
	return nil
}
