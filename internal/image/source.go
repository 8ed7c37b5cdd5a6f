package image

import (
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/google/uuid"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// Scheme says how an image is fetched.
type Scheme string

// The schemes of image_source. Agents fetch the first two themselves; what has another scheme Temper fetches for them.
const (
	HTTP   Scheme = "http"
	HTTPS  Scheme = "https"
	File   Scheme = "file"   // a file of the machine of temper boot, in a folder that its settings allow
	OCI    Scheme = "oci"    // an artifact in a registry, as oci://HOST/NAME:TAG or oci://HOST/NAME@sha256:DIGEST
	Glance Scheme = "glance" // an image of OpenStack, as glance://ID or the id alone
)

// Scheme returns how the image is fetched.
func (i Info) Scheme() Scheme {
	if _, err := uuid.Parse(i.Source); err == nil {
		return Glance
	}
	scheme, _, _ := strings.Cut(i.Source, "://")
	return Scheme(strings.ToLower(scheme))
}

// GlanceID returns the id of an image of Glance.
func (i Info) GlanceID() string {
	_, id, found := strings.Cut(i.Source, "://")
	if !found {
		return i.Source
	}
	return id
}

// FetchedByAgents reports whether the source is one that agents can fetch themselves.
func (i Info) FetchedByAgents() bool { return i.Scheme() == HTTP || i.Scheme() == HTTPS }

// tellsDigest reports whether the source itself says what digest the image has.
func (i Info) tellsDigest() bool { return i.Scheme() == OCI || i.Scheme() == Glance }

func (i *Info) checkSource() error {
	u, err := url.Parse(i.Source)
	if err != nil {
		return fault.Coded(fault.ImageInvalid, "Validation of image href failed, reason: it is no URL")
	}
	wrong := ""
	switch i.Scheme() {
	case HTTP, HTTPS, OCI:
		if u.Hostname() == "" || strings.Trim(u.Path, "/") == "" {
			wrong = "it names no file"
		}
	case File:
		if u.Host != "" || u.Path != path.Clean(u.Path) || u.Path == "/" {
			wrong = "want a file as file:///FOLDER/NAME, without .. in it"
		}
	case Glance:
		if _, err := uuid.Parse(i.GlanceID()); err != nil {
			wrong = "it names no id of an image"
		}
	default:
		wrong = "only http, https, file, oci and the id of an image of Glance are supported"
	}
	if wrong != "" {
		return fault.Coded(fault.ImageInvalid, "Validation of image href %s failed, reason: %s", quotedURL(i.Source), wrong)
	}
	return nil
}

// chooseWay decides whether the agent fetches the image itself. What the instance says counts before what the node says, as in Ironic.
func (i *Info) chooseWay(instance, driver map[string]any, p Policy) error {
	way := ""
	for _, f := range []fields{{of: "instance_info", values: instance}, {of: "driver_info", values: driver}} {
		if way == "" {
			way = f.text("image_download_source")
		}
		if f.err != nil {
			return f.err
		}
	}
	byAgent := i.FetchedByAgents()
	switch {
	case way != "" && way != node.ImageFromSource && way != node.ImageFromTemper:
		return i.invalid("image_download_source %q is not supported: want http, to have the agent fetch the image from image_source, or local, to have temper boot fetch it", way)
	case way == node.ImageFromSource && !byAgent:
		return i.invalid("image_download_source is http, but agents can't fetch images from %s: remove it, or set it to local", i.Scheme())
	}
	i.Local = !byAgent || way == node.ImageFromTemper || way == "" && p.Local
	return nil
}

// Described returns i with what its source says of the image: its digest, unless instance_info has one, how many bytes it has (0 = it does
// not say), and its format ("" = it does not say), unless instance_info has one.
func (i Info) Described(algo, digest string, size int64, format string, p Policy) (Info, error) {
	i.Size = size
	if i.Format == "" && slices.Contains(formats, format) {
		i.Format = format
	}
	if i.Checksum != "" {
		return i, nil
	}
	return i, i.setDigest("the digest that the image's source tells", algo, digest, p)
}

// Shown is the image for an error or a log: without secrets.
func (i Info) Shown() string { return quotedURL(i.Source) }
