package redfish

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"go.temper.dev/temper/internal/sim/faults"
	"go.temper.dev/temper/internal/sim/machine"
)

const controller = system + "/Storage/1"

func storageRoutes() map[string]resource {
	return map[string]resource{
		system + "/Storage": {get: func(*call) (m, error) {
			return collection(system+"/Storage", "Storage", "Storage Collection", controller), nil
		}},
		controller:                   {get: getStorage},
		controller + "/Drives/{n}":   {get: getDrive, patch: patchDrive},
		controller + "/Volumes":      {get: getVolumes, post: postVolume},
		controller + "/Volumes/{id}": {get: getVolume, remove: deleteVolume},
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
			"Manufacturer": c.s.Manufacturer, "SpeedGbps": 12, "SupportedRAIDTypes": machine.RAIDTypes, "Status": enabled,
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
		"LocationIndicatorActive": c.s.Settings().Lights[i], "Status": enabled,
	}, nil
}

// patchDrive switches the light of a drive.
func patchDrive(c *call, body m) error {
	i, err := nth(c, len(c.s.Drives))
	if err != nil {
		return err
	}
	for k, v := range body {
		on, ok := v.(bool)
		switch {
		case k != "LocationIndicatorActive":
			return unwritable(c, getDrive, k)
		case !ok:
			return problem(http.StatusBadRequest, "PropertyValueTypeError", fmt.Sprint(v), k)
		}
		c.s.SetLight(i, on)
	}
	return nil
}

// naa returns a World Wide Name in the DurableName format NAA: hexadecimal digits
// without the prefix 0x that Linux shows.
func naa(wwn string) string { return strings.ToUpper(strings.TrimPrefix(wwn, "0x")) }

func getVolumes(c *call) (m, error) {
	var members []string
	for _, v := range c.s.Volumes() {
		members = append(members, controller+"/Volumes/"+v.ID)
	}
	all := collection(controller+"/Volumes", "Volume", "Volumes", members...)
	all["@Redfish.OperationApplyTimeSupport"] = m{"@odata.type": "#Settings.v1_3_5.OperationApplyTimeSupport", "SupportedValues": []string{"Immediate"}}
	return all, nil
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
		n, err := strconv.Atoi(strings.TrimPrefix(strings.TrimSuffix(c.p.canonical(path), "/"), controller+"/Drives/"))
		if err != nil {
			return reply{}, problem(http.StatusBadRequest, "PropertyValueNotInList", path, "Links/Drives")
		}
		indices = append(indices, n-1)
	}
	bytes, _ := body["CapacityBytes"].(float64)
	create := func() (machine.Volume, error) {
		if _, failed := c.s.Faults.Trigger(faults.FailedVolume, faults.Event{}); failed {
			return machine.Volume{}, problem(http.StatusInternalServerError, "GeneralError").saying("The volume could not be initialized.")
		}
		v, err := c.s.CreateVolume(name, raid, int64(bytes), indices)
		if err != nil {
			err = problem(http.StatusBadRequest, "PropertyValueNotInList", raid, "RAIDType")
		}
		return v, err
	}
	if _, refused := c.s.Faults.Trigger(faults.RefusedVolume, faults.Event{}); refused {
		return reply{}, problem(http.StatusBadRequest, "GeneralError").saying("The controller is in a mode without RAID.")
	}
	if c.s.TasksEnabled() {
		return accepted(c.s.StartTask("Create a volume", func() error { _, err := create(); return err })), nil
	}
	v, err := create()
	if err != nil {
		return reply{}, err
	}
	return reply{status: http.StatusCreated, location: controller + "/Volumes/" + v.ID, body: volume(v)}, nil
}

func deleteVolume(c *call) (reply, error) {
	if _, err := getVolume(c); err != nil {
		return reply{}, err
	}
	id := c.PathValue("id")
	if c.s.TasksEnabled() {
		return accepted(c.s.StartTask("Delete a volume", func() error { c.s.DeleteVolume(id); return nil })), nil
	}
	c.s.DeleteVolume(id)
	return reply{}, nil
}
