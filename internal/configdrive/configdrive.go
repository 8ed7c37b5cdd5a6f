// Package configdrive turns a user's config drive into the form that the agent needs: base64 of
// a gzipped ISO 9660 image, or a URL. It never fetches a URL, and never logs or quotes the
// content, because config drives contain secrets.
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

// MaxSize is the size of the largest config drive in bytes, both as it is given and as the image
// in it (Nova and Ironic: 64 MiB).
const MaxSize = 64 << 20

// maxURL is the length of the longest URL of a config drive in bytes.
const maxURL = 4096

// Parts are the parts from which a config drive is built. All are optional.
type Parts struct {
	MetaData    map[string]any
	NetworkData map[string]any
	VendorData  map[string]any
	// UserData is a text (cloud-init, Ignition), or an object or list, which becomes JSON.
	UserData any
}

// Drive is a config drive as the user gave it. Exactly one of its fields is set.
type Drive struct {
	URL   string // http or https; not fetched
	Image string // base64 of a gzipped image, without white space around it
	Parts *Parts
}

// Parse parses the configdrive of a provision request or of instance_info: a string (URL or
// image) or an object with parts. It checks everything that needs no network and no image to be
// built, and returns fault.Invalid or fault.TooLarge.
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

// ForAgent returns what the agent gets: the URL, the image as given, or an image that is built
// from the parts for the node.
func (d Drive) ForAgent(nodeUUID, nodeName string) (string, error) {
	switch {
	case d.URL != "":
		return d.URL, nil
	case d.Parts != nil:
		return Build(*d.Parts, nodeUUID, nodeName)
	}
	return d.Image, nil
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
	return Drive{Image: s}, checkImage(s)
}

// checkImage checks that an image can be decoded. It does not check the file system: Ironic
// accepts any.
func checkImage(s string) error {
	z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(s)))
	if err != nil {
		return decodeError(err)
	}
	n, err := io.Copy(io.Discard, io.LimitReader(z, MaxSize+1))
	switch {
	case err != nil:
		return decodeError(err)
	case n == 0:
		return fault.New(fault.Invalid, "configdrive is an empty image")
	case n > MaxSize:
		return fault.New(fault.TooLarge, "the image in configdrive is larger than %d bytes", MaxSize)
	}
	return nil
}

func decodeError(err error) error {
	var notBase64 base64.CorruptInputError
	if errors.As(err, &notBase64) {
		return fault.New(fault.Invalid, "configdrive is neither a URL nor base64: %w", err)
	}
	return fault.New(fault.Invalid, "configdrive is base64, but no gzipped image in it: %w", err)
}

// parseParts checks the object against Ironic's schema (api/controllers/v1/node.py).
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
	// The image contains each file once for every version.
	if size*len(versions) > MaxSize-layoutSize {
		return Parts{}, fault.New(fault.TooLarge, "the configdrive would be larger than %d bytes", MaxSize)
	}
	return p, nil
}

// files returns the names and contents of the files in one version's folder. The metadata has
// the node's uuid and name, unless the user gave others.
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
