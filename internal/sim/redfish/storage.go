package redfish

import (
	"net/http"
	"strconv"
	"strings"

	"go.temper.dev/temper/internal/sim/machine"
)

const controller = system + "/Storage/1"

func storageRoutes() map[string]resource {
	return map[string]resource{
		system + "/Storage": {get: func(*call) (m, error) {
			return collection(system+"/Storage", "Storage", "Storage Collection", controller), nil
		}},
		controller:                   {get: getStorage},
		controller + "/Drives/{n}":   {get: getDrive},
		controller + "/Volumes":      {get: getVolumes, post: postVolume},
		controller + "/Volumes/{id}": {get: getVolume, delete: deleteVolume},
	}
}

func driveRefs(of []int) []any {
	var out []any
	for _, i := range of {
		out = append(out, ref(controller+"/Drives/"+strconv.Itoa(i+1)))
	}
	return out
}

func getStorage(c *call) (m, error) {
	all := make([]int, len(c.s.Drives))
	for i := range all {
		all[i] = i
	}
	return m{
		"@odata.type": "#Storage.v1_15_1.Storage", "@odata.id": controller, "Id": "1", "Name": "Storage Controller",
		"StorageControllers": []any{m{
			"@odata.id": controller + "#/StorageControllers/0", "MemberId": "0", "Name": "Storage Controller",
			"Manufacturer": c.s.Manufacturer, "SpeedGbps": 12, "SupportedRAIDTypes": []string{"RAID0", "RAID1"}, "Status": enabled,
		}},
		"Drives": driveRefs(all), "Drives@odata.count": len(all), "Volumes": ref(controller + "/Volumes"), "Status": enabled,
	}, nil
}

func getDrive(c *call) (m, error) {
	i, err := nth(c, len(c.s.Drives))
	if err != nil {
		return nil, err
	}
	d := c.s.Drives[i]
	protocol := "SATA"
	if d.NVMe {
		protocol = "NVMe"
	}
	return m{
		"@odata.type": "#Drive.v1_18_0.Drive", "@odata.id": c.URL.Path, "Id": strconv.Itoa(i + 1), "Name": "Drive " + strconv.Itoa(i+1),
		"MediaType": "SSD", "Protocol": protocol, "CapacityBytes": d.Bytes, "Model": d.Model, "SerialNumber": d.Serial, "Revision": d.Firmware,
		"Manufacturer": c.s.Manufacturer, "BlockSizeBytes": 512, "Identifiers": []any{m{"DurableName": naa(d.WWN), "DurableNameFormat": "NAA"}},
		"Status": enabled,
	}, nil
}

// naa returns a World Wide Name in the DurableName format NAA: hexadecimal digits
// without the prefix 0x that Linux shows.
func naa(wwn string) string { return strings.ToUpper(strings.TrimPrefix(wwn, "0x")) }

func getVolumes(c *call) (m, error) {
	var members []string
	for _, v := range c.s.Volumes() {
		members = append(members, controller+"/Volumes/"+v.ID)
	}
	return collection(controller+"/Volumes", "Volume", "Volumes", members...), nil
}

func getVolume(c *call) (m, error) {
	for _, v := range c.s.Volumes() {
		if v.ID == c.PathValue("id") {
			return volume(v), nil
		}
	}
	return nil, missing(c)
}

func volume(v machine.Volume) m {
	return m{
		"@odata.type": "#Volume.v1_9_0.Volume", "@odata.id": controller + "/Volumes/" + v.ID, "Id": v.ID, "Name": v.Name,
		"RAIDType": v.RAID, "CapacityBytes": v.Bytes, "Links": m{"Drives": driveRefs(v.Drives)}, "Status": enabled,
	}
}

func postVolume(c *call, body m) (reply, error) {
	raid, _ := body["RAIDType"].(string)
	name, _ := body["Name"].(string)
	links, _ := body["Links"].(m)
	drives, _ := links["Drives"].([]any)
	var indices []int
	for _, d := range drives {
		o, _ := d.(m)
		path, _ := o["@odata.id"].(string)
		n, err := strconv.Atoi(strings.TrimPrefix(path, controller+"/Drives/"))
		if err != nil {
			return reply{}, problem(http.StatusBadRequest, "PropertyValueNotInList", path, "Links/Drives")
		}
		indices = append(indices, n-1)
	}
	v, err := c.s.CreateVolume(name, raid, indices)
	if err != nil {
		return reply{}, problem(http.StatusBadRequest, "PropertyValueNotInList", raid, "RAIDType")
	}
	return reply{status: http.StatusCreated, location: controller + "/Volumes/" + v.ID, body: volume(v)}, nil
}

func deleteVolume(c *call) error {
	if !c.s.DeleteVolume(c.PathValue("id")) {
		return missing(c)
	}
	return nil
}
