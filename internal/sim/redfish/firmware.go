package redfish

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/url"
	"path"
)

const (
	updateService = root + "/UpdateService"
	firmware      = updateService + "/FirmwareInventory"
	simpleUpdate  = updateService + "/Actions/UpdateService.SimpleUpdate"
	pushFirmware  = updateService + "/update"
	pushMultipart = updateService + "/update-multipart"
)

// firmwareRoutes has the versions of the firmware that is installed.
func firmwareRoutes() map[string]resource {
	return map[string]resource{
		updateService: {get: func(*call) (m, error) {
			return m{
				"@odata.type": "#UpdateService.v1_14_0.UpdateService", "@odata.id": updateService, "Id": "UpdateService", "Name": "Update Service",
				"ServiceEnabled": true, "FirmwareInventory": ref(firmware), "Status": enabled,
				"HttpPushUri": pushFirmware, "MultipartHttpPushUri": pushMultipart,
				"Actions": m{"#UpdateService.SimpleUpdate": m{
					"target": simpleUpdate, "TransferProtocol@Redfish.AllowableValues": []string{"HTTP", "HTTPS"},
				}},
			}, nil
		}},
		simpleUpdate: {post: postSimpleUpdate},
		firmware: {get: func(*call) (m, error) {
			return collection(firmware, "SoftwareInventory", "Firmware Inventory", firmware+"/BIOS", firmware+"/BMC", firmware+"/NIC", firmware+"/TPM"), nil
		}},
		firmware + "/{id}": {get: getFirmware},
	}
}

func getFirmware(c *call) (m, error) {
	id := c.PathValue("id")
	version := map[string]string{"BIOS": c.s.FirmwareVersion("BIOS"), "BMC": c.s.FirmwareVersion("BMC"), "NIC": c.s.FirmwareVersion("NIC"), "TPM": c.s.TPMVersion}[id]
	if version == "" {
		return nil, missing(c)
	}
	return installed(c, id, version), nil
}

func installed(c *call, name, version string) m {
	return m{
		"@odata.type": "#SoftwareInventory.v1_10_0.SoftwareInventory", "@odata.id": c.URL.Path, "Id": path.Base(c.URL.Path), "Name": name,
		"Manufacturer": c.s.Manufacturer, "Version": version, "Updateable": true, "Status": enabled,
	}
}

// postSimpleUpdate installs the image at a URL, as a task.
func postSimpleUpdate(c *call, body m) (reply, error) {
	const action = "UpdateService.SimpleUpdate"
	image, given := body["ImageURI"].(string)
	if !given {
		return reply{}, problem(http.StatusBadRequest, "ActionParameterMissing", action, "ImageURI")
	}
	if u, err := url.Parse(image); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return reply{}, problem(http.StatusBadRequest, "ActionParameterValueTypeError", image, "ImageURI", action)
	}
	return accepted(c.s.StartTask(action, func() error { return c.s.FetchFirmware(image) })), nil
}

// push installs the image that is the body of a request, as a task.
func push(w http.ResponseWriter, r *http.Request) { installBody(w, r, r.Body) }

// pushParts installs the part UpdateFile of a request (DSP0266, Multipart HTTP push updates).
func pushParts(w http.ResponseWriter, r *http.Request) {
	parts, err := r.MultipartReader()
	for first := true; err == nil; first = false {
		part, perr := parts.NextPart()
		switch err = perr; {
		case err != nil:
		case first && part.FormName() != "UpdateParameters":
			err = errors.New("the first part is not UpdateParameters")
		case part.FormName() == "UpdateFile":
			installBody(w, r, part)
			return
		}
	}
	problem(http.StatusBadRequest, "PropertyMissing", "UpdateFile").write(w)
}

func installBody(w http.ResponseWriter, r *http.Request, from io.Reader) {
	image, err := io.ReadAll(io.LimitReader(from, bodyLimit))
	if err != nil {
		problem(http.StatusBadRequest, "GeneralError").write(w)
		return
	}
	s := callOf(r).s
	accepted(s.StartTask("HttpPushUri", func() error { return s.InstallFirmware(bytes.NewReader(image)) })).write(w)
}
