package redfish

import (
	"net/http"
	"strconv"
	"strings"

	"go.temper.dev/temper/internal/sim/machine"
)

var dgx = Persona{
	Name: "dgx", sensors: newModel, About: "an NVIDIA GB200 NVL, DGX",
	Parts: []Part{
		{"paths (System_0, BMC_0), and a second system of the GPU board", Reported, "NVIDIA/infra-controller, crates/bmc-mock"},
		{"the GPUs are processors of the second system", Reported, "NVIDIA/infra-controller, crates/bmc-mock"},
		{"names of the GPUs (GPU_SXM_1)", Guessed, ""},
		{"the second system answers 503 while the server is off", Reported, "NVIDIA/infra-controller#5418"},
		{"InsertMedia wants UserName and Password", Reported, "sushy release notes insertmedia-credentials-detection and vmedia-blank-auth"},
		{"one Ethernet interface has an address of 20 bytes", Reported, "NVIDIA/infra-controller#4991"},
		{"words of that answer", Reported, "sushy, resources/manager/virtual_media.py"},
	},
	Make: machine.Make{GPUs: 4, Manufacturer: "NVIDIA", Model: "GB200 NVL", BIOSVersion: "02.02.00", BMCVersion: "GB200Nvl-25.01"},
	moves: []move{
		{cd, root + "/Managers/BMC_0/VirtualMedia/USB1"},
		{system, root + "/Systems/System_0"},
		{manager, root + "/Managers/BMC_0"},
		{chassis, root + "/Chassis/Chassis_0"},
	},
	registry: "Base.1.18", gpuBoard: true,
	change: func(r map[string]resource) {
		const board = root + "/Systems/HGX_Baseboard_0"
		r[root] = r[root].edited(func(_ *call, body m) { body["Vendor"], body["Product"] = "NVIDIA", "GB200 NVL" })
		r[root+"/Systems"] = r[root+"/Systems"].edited(func(_ *call, body m) {
			body["Members"], body["Members@odata.count"] = refs(board, system), 2
		})
		r[board] = resource{get: func(c *call) (m, error) {
			if c.s.PowerState() != machine.On {
				return nil, &Problem{Status: http.StatusServiceUnavailable, Message: "GeneralError", NoRetry: true}
			}
			return m{"@odata.id": board, "Id": "HGX_Baseboard_0", "Name": "HGX_Baseboard_0", "SystemType": "Physical", "PowerState": "On", "Processors": ref(board + "/Processors")}, nil
		}}
		r[board+"/Processors"] = resource{get: func(c *call) (m, error) {
			var members []string
			for i := range c.s.GPUs {
				members = append(members, board+"/Processors/GPU_SXM_"+strconv.Itoa(i+1))
			}
			return collection(board+"/Processors", "Processor", "Processors", members...), nil
		}}
		r[board+"/Processors/{gpu}"] = resource{get: func(c *call) (m, error) {
			id := c.PathValue("gpu")
			i, err := strconv.Atoi(strings.TrimPrefix(id, "GPU_SXM_"))
			if err != nil || i < 1 || i > len(c.s.GPUs) {
				return nil, missing(c)
			}
			return gpu(c, id, c.s.GPUs[i-1]), nil
		}}
		r[system] = r[system].edited(func(_ *call, body m) { body["Id"] = "System_0" })
		const (
			list       = system + "/EthernetInterfaces"
			infiniband = list + "/ib0"
		)
		r[list] = r[list].edited(func(_ *call, body m) {
			body["Members"] = append(refs(infiniband), body["Members"].([]any)...)
		})
		r[infiniband] = resource{get: func(*call) (m, error) {
			return m{"@odata.id": infiniband, "Id": "ib0", "MACAddress": "00:00:10:29:fe:80:00:00:00:00:00:00:b8:3f:d2:03:00:a1:5c:7e", "LinkStatus": "LinkUp"}, nil
		}}
		r[manager] = r[manager].edited(func(_ *call, body m) { body["Id"], body["Model"] = "BMC_0", "GB200 NVL" })
		for at, res := range (drive{path: cd, id: "USB1", ask: []string{"UserName", "Password"}}).routes() {
			r[at] = res
		}
	},
}
