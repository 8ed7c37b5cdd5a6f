package redfish

import "net/http"

func rootRoutes() map[string]resource {
	return map[string]resource{
		"/redfish": {get: func(*call) (m, error) { return m{"v1": root + "/"}, nil }},
		root:       {get: getRoot},
		root + "/odata": {get: func(*call) (m, error) {
			return m{"@odata.context": root + "/$metadata", "value": []any{
				m{"name": "Service", "kind": "Singleton", "url": root},
				m{"name": "Systems", "kind": "Singleton", "url": root + "/Systems"},
				m{"name": "Managers", "kind": "Singleton", "url": managers},
				m{"name": "Chassis", "kind": "Singleton", "url": root + "/Chassis"},
				m{"name": "Tasks", "kind": "Singleton", "url": root + "/TaskService"},
				m{"name": "SessionService", "kind": "Singleton", "url": root + "/SessionService"},
			}}, nil
		}},
		"/": {
			get:    func(c *call) (m, error) { return nil, missing(c) },
			patch:  func(c *call, _ m) error { return missing(c) },
			post:   func(c *call, _ m) (reply, error) { return reply{}, missing(c) },
			delete: missing,
		},
	}
}

func missing(c *call) error {
	return problem(http.StatusNotFound, "ResourceMissingAtURI", c.URL.Path)
}

func getRoot(c *call) (m, error) {
	return m{
		"@odata.type": "#ServiceRoot.v1_16_1.ServiceRoot", "@odata.id": root, "Id": "RootService", "Name": "Root Service",
		"RedfishVersion": "1.20.0", "UUID": c.s.UUID, "Vendor": c.s.Manufacturer, "Product": "Simulated BMC",
		"ProtocolFeaturesSupported": m{
			"ExcerptQuery": false, "FilterQuery": false, "SelectQuery": false, "OnlyMemberQuery": false,
			"ExpandQuery": m{"ExpandAll": false, "Levels": false, "Links": false, "NoLinks": false},
		},
		"Systems": ref(root + "/Systems"), "Managers": ref(managers), "Chassis": ref(root + "/Chassis"),
		"Tasks": ref(root + "/TaskService"), "SessionService": ref(root + "/SessionService"),
		"AccountService": ref(root + "/AccountService"), "UpdateService": ref(root + "/UpdateService"),
		"Registries": ref(registries), "Links": m{"Sessions": ref(sessions)},
	}, nil
}

// ref is a link to another resource.
func ref(path string) m { return m{"@odata.id": path} }

func refs(paths ...string) []any {
	out := make([]any, len(paths))
	for i, p := range paths {
		out[i] = ref(p)
	}
	return out
}

// collection is a resource collection of that type ("Drive") at path.
func collection(path, of, name string, members ...string) m {
	return m{
		"@odata.type": "#" + of + "Collection." + of + "Collection", "@odata.id": path, "Name": name,
		"Members": refs(members...), "Members@odata.count": len(members),
	}
}

var enabled = m{"State": "Enabled", "Health": "OK", "HealthRollup": "OK"}
