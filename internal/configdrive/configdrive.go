// Package configdrive turns what a user gives as config drive into what an
// agent takes: a base64 gzipped ISO 9660 image, or a URL. It never fetches a
// URL, and never logs or quotes what is inside: config drives hold secrets.
package configdrive

import (
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"strings"

	"go.temper.dev/temper/internal/fault"
)

// MaxSize bounds a config drive, in bytes: as it is given, and as the image
// that it holds (Nova and Ironic: 64 MiB).
const MaxSize = 64 << 20

// maxURL bounds a config drive that is given as URL, in bytes.
const maxURL = 4096

// Parts are what a config drive is built from; all are optional.
type Parts struct {
	MetaData    map[string]any
	NetworkData map[string]any
	VendorData  map[string]any
	// UserData is text as it is (cloud-init, Ignition), or an object or list,
	// which becomes JSON.
	UserData any
}

// Drive is a config drive as it was given: exactly one of its fields is set.
type Drive struct {
	URL   string // http or https, left as it is
	Ready string // base64 of a gzipped image, without white space around it
	Parts *Parts
}

// Parse reads the configdrive of a provision request or of instance_info: a
// string (URL or image) or an object of parts. It checks all of it, without
// network and without building; fault.Invalid or fault.TooLarge.
func Parse(given any) (Drive, error) {
	switch v := given.(type) {
	case string:
		return parseText(v)
	case map[string]any:
		p, err := parseParts(v)
		return Drive{Parts: &p}, err
	}
	return Drive{}, fault.New(fault.Invalid, "configdrive must be a string or an object")
}

// ForAgent is what goes to the agent: the URL, the image as given, or one built
// from the parts for the node.
func (d Drive) ForAgent(nodeUUID, nodeName string) (string, error) {
	switch {
	case d.URL != "":
		return d.URL, nil
	case d.Parts != nil:
		return Build(*d.Parts, nodeUUID, nodeName)
	}
	return d.Ready, nil
}

func parseText(s string) (Drive, error) {
	s = strings.TrimSpace(s)
	switch {
	case s == "":
		return Drive{}, fault.New(fault.Invalid, "configdrive is empty")
	case strings.HasPrefix(s, "http://"), strings.HasPrefix(s, "https://"):
		u, err := url.Parse(s)
		if err != nil || u.Hostname() == "" || len(s) > maxURL {
			return Drive{}, fault.New(fault.Invalid, "the URL of the configdrive is not valid")
		}
		return Drive{URL: s}, nil
	case len(s) > MaxSize:
		return Drive{}, fault.New(fault.TooLarge, "configdrive is larger than %d bytes", MaxSize)
	}
	return Drive{Ready: s}, checkReady(s)
}

// checkReady decodes an image without keeping it. What file system is inside is
// not looked at: Ironic takes any.
func checkReady(s string) error {
	z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(s)))
	if err != nil {
		return unreadable(err)
	}
	n, err := io.Copy(io.Discard, io.LimitReader(z, MaxSize+1))
	switch {
	case err != nil:
		return unreadable(err)
	case n == 0:
		return fault.New(fault.Invalid, "configdrive is an empty image")
	case n > MaxSize:
		return fault.New(fault.TooLarge, "the image in configdrive is larger than %d bytes", MaxSize)
	}
	return nil
}

func unreadable(err error) error {
	var notBase64 base64.CorruptInputError
	if errors.As(err, &notBase64) {
		return fault.New(fault.Invalid, "configdrive is neither a URL nor base64: %w", err)
	}
	return fault.New(fault.Invalid, "configdrive is base64, but no gzipped image in it: %w", err)
}

// parseParts is Ironic's schema of the object (api/controllers/v1/node.py).
func parseParts(v map[string]any) (Parts, error) {
	var p Parts
	objects := map[string]*map[string]any{
		"meta_data": &p.MetaData, "network_data": &p.NetworkData, "vendor_data": &p.VendorData,
	}
	for key, value := range v {
		into, known := objects[key]
		switch {
		case known:
			object, ok := value.(map[string]any)
			if !ok {
				return Parts{}, fault.New(fault.Invalid, "configdrive: %s must be an object", key)
			}
			*into = object
		case key == "user_data":
			switch value.(type) {
			case nil, string, map[string]any, []any:
				p.UserData = value
			default:
				return Parts{}, fault.New(fault.Invalid, "configdrive: user_data must be a string, an object or a list")
			}
		default:
			return Parts{}, fault.New(fault.Invalid,
				"configdrive: %q is not one of meta_data, network_data, user_data, vendor_data", key)
		}
	}
	files, err := p.files("00000000-0000-0000-0000-000000000000", "")
	if err != nil {
		return Parts{}, err
	}
	size := 0
	for _, content := range files {
		size += len(content)
	}
	// Each file stands in the image once for every version.
	if size*len(versions) > MaxSize-layout {
		return Parts{}, fault.New(fault.TooLarge, "the configdrive would be larger than %d bytes", MaxSize)
	}
	return p, nil
}

// files are the names and contents of one version's folder. The node's uuid and
// name are metadata unless the user gave others.
func (p Parts) files(nodeUUID, nodeName string) (map[string][]byte, error) {
	meta := map[string]any{"uuid": nodeUUID}
	if nodeName != "" {
		meta["name"] = nodeName
	}
	for k, v := range p.MetaData {
		meta[k] = v
	}
	objects := map[string]any{"meta_data.json": meta}
	if p.NetworkData != nil {
		objects["network_data.json"] = p.NetworkData
	}
	if p.VendorData != nil {
		objects["vendor_data2.json"] = p.VendorData
	}
	files := make(map[string][]byte, len(objects)+1)
	switch u := p.UserData.(type) {
	case nil:
	case string:
		if u != "" {
			files["user_data"] = []byte(u)
		}
	default:
		objects["user_data"] = u
	}
	for name, object := range objects {
		b, err := json.Marshal(object)
		if err != nil {
			return nil, fault.New(fault.Invalid, "configdrive: %s can't be written as JSON", name)
		}
		files[name] = b
	}
	return files, nil
}
