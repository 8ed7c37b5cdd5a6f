// Package image determines which image a node gets: it parses instance_info, refuses what the
// agent would refuse later, and builds the agent's image_info. Only a Resolver uses the
// network: it fetches checksum files and the first bytes of images.
package image

import (
	"encoding/base64"
	"net/url"
	"path"
	"slices"
	"strings"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/dial"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/jsonvalue"
	"go.temper.dev/temper/internal/mask"
)

// Policy has the settings that decide which images are accepted.
type Policy struct {
	// AllowMD5 accepts MD5 digests (setting allow_md5_checksum; Ironic:
	// [agent]allow_md5_checksum). MD5 does not protect against a forged image.
	AllowMD5 bool
	// RefuseChecksumURLs accepts digests only (Ironic: [conductor]disable_support_for_checksum_files).
	RefuseChecksumURLs bool
	// Local has Temper serve images to agents where a node does not say (setting image_download_source; Ironic:
	// [agent]image_download_source).
	Local bool
	// Reach decides from which addresses checksums and images are fetched.
	Reach dial.Reach
}

// Info describes an image and how it is verified.
type Info struct {
	NodeUUID string // for the agent
	Source   string // URL: http, https, or of one of the schemes that only Temper fetches; or the id of an image of Glance
	// Local says that the agent gets the image from Temper, which fetches it (package imagecache).
	Local bool
	// Format is raw, qcow2 or "" (not given; Detect or the agent detects it).
	Format    string
	Container string // bare unless given otherwise

	// Checksum is a digest of the algorithm Algo in lower case, or the URL of a checksum
	// file. Only with a URL may Algo be "": then the digest in the file determines it.
	Checksum string
	Algo     string // one of node.Hashes, or md5
	// Unused is the field of instance_info with a checksum that is not used, because another one takes precedence; "" = none.
	Unused string

	// Size is how many bytes the image needs on a disk; 0 = not known. Detect learns it.
	Size int64

	// Partition says that the image is a file system, for which the agent partitions the disk.
	Partition           bool
	SwapMB, EphemeralGB int64 // of such an image; 0 = there is none

	RootGB  int64             // 0 = not given
	Proxies map[string]string // by scheme
	NoProxy string
	// Authorization is the header for the image server; a secret.
	Authorization string
	// Blob is the digest of a registry's blob that the image is, "sha256:...": Described for OCI.
	Blob string
	// PullSecret is that of a registry, as Docker's auth: the base64 of user:password; a secret.
	PullSecret string
}

// Parse parses the image from instance_info and the proxies from driver_info. It checks
// everything that can be checked without the network. It returns fault.Invalid that names every
// missing field, with Ironic's texts. Other errors name no node, because who shows them knows it.
func Parse(nodeUUID string, instance, driver map[string]any, p Policy) (Info, error) {
	f := fields{of: "instance_info", values: instance}
	i := Info{
		NodeUUID: nodeUUID, Source: f.text("image_source"),
		Format: strings.ToLower(f.text("image_disk_format")), Container: f.text("image_container_format"),
		Authorization: f.text("image_request_authorization_secret"), PullSecret: f.text("image_pull_secret"),
	}
	if i.Format == agent.FormatGPT { // a raw image with a partition table; older agents don't know the format gpt
		i.Format = agent.FormatRaw
	}
	if i.Container == "" {
		i.Container = "bare"
	}
	checksum, algo, value := f.text("image_checksum"), f.text("image_os_hash_algo"), f.text("image_os_hash_value")
	kind := f.text("image_type")
	i.RootGB = f.size("root_gb")
	if f.err != nil {
		return Info{}, f.err
	}
	if i.Source == "" {
		return Info{}, fault.Coded(fault.ImageInvalid, "Cannot validate image information for node %s because one or more parameters "+
			"are missing from its instance_info and insufficient information is present to boot from a remote volume. "+
			"Missing are: ['image_source']", nodeUUID)
	}
	if err := i.checkSource(); err != nil {
		return Info{}, err
	}
	if err := i.chooseWay(instance, driver, p); err != nil {
		return Info{}, err
	}
	if err := i.checkKind(kind, f.text("kernel"), f.text("ramdisk")); err != nil {
		return Info{}, err
	}
	if err := i.chooseChecksum(checksum, algo, value, p); err != nil {
		return Info{}, err
	}
	if err := i.checkPartitions(instance); err != nil {
		return Info{}, err
	}
	return i, i.takeProxies(driver)
}

// checkPartitions checks what an image of a partition needs (Ironic deploy_utils.py, parse_instance_info). Such an image boots from its
// disk: a kernel and a ramdisk of instance_info, which only network boot needs, are not used.
func (i *Info) checkPartitions(instance map[string]any) error {
	if !i.Partition {
		return nil
	}
	f := fields{of: "instance_info", values: instance}
	i.SwapMB, i.EphemeralGB = f.optionalSize("swap_mb"), f.optionalSize("ephemeral_gb")
	format, preserve := f.text("ephemeral_format"), instance["preserve_ephemeral"]
	switch {
	case f.err != nil:
		return f.err
	case i.RootGB == 0:
		return i.invalid("an image of a partition needs root_gb in instance_info, the size of the root partition")
	case i.EphemeralGB > 0 && format != "" && format != "ext4":
		return i.invalid("ephemeral_format %q is not supported, use ext4", format)
	case preserve != nil && preserve != false && preserve != "" && preserve != "false" && preserve != "False":
		return i.invalid("preserve_ephemeral is not supported: every deploy makes the ephemeral partition anew")
	}
	return nil
}

var formats = []string{"", agent.FormatRaw, agent.FormatQCOW2}

func (i *Info) checkKind(kind, kernel, ramdisk string) error {
	switch {
	case kind != "" && kind != "whole-disk" && kind != "partition":
		return i.invalid("Invalid image_type %q, valid are whole-disk, partition", kind)
	case !slices.Contains(formats, i.Format):
		return i.invalid("image_disk_format %q is not supported, use raw, gpt or qcow2", i.Format)
	}
	i.Partition = kind == agent.PartitionImage || kind == "" && kernel != "" && ramdisk != ""
	return nil
}

func (i *Info) takeProxies(driver map[string]any) error {
	if i.Local { // they are for the way of the agent to the image's server
		return nil
	}
	f := fields{of: "driver_info", values: driver}
	for _, scheme := range []string{"http", "https"} {
		name := "image_" + scheme + "_proxy"
		proxy := f.text(name)
		if proxy == "" {
			continue
		}
		if s, _, found := strings.Cut(proxy, "://"); found && s != "http" && s != "https" {
			return fault.Coded(fault.ImageInvalid, "%s in driver_info must be an http or https URL, or have no scheme", name)
		}
		if i.Proxies == nil {
			i.Proxies = map[string]string{}
		}
		i.Proxies[scheme] = proxy
	}
	if i.Proxies != nil {
		i.NoProxy = f.text("image_no_proxy")
	}
	return f.err
}

// ForAgent returns the image_info for the step write_image. If the checksum is still a URL, the
// agent fetches the file.
func (i Info) ForAgent() agent.ImageInfo {
	out := agent.ImageInfo{
		ID: i.name(), URLs: []string{i.Source}, NodeUUID: i.NodeUUID,
		DiskFormat: agent.Text(i.Format), ContainerFormat: agent.Text(i.Container),
		// Raw images are streamed to the disk; others need space in memory first. Ironic's default.
		StreamRaw: true,
		Proxies:   i.Proxies, NoProxy: i.NoProxy,
	}
	if i.Algo != "" {
		out.HashAlgo, out.HashValue = i.Algo, i.Checksum
	} else {
		out.Checksum = i.Checksum
	}
	if i.Partition {
		out.ImageType = agent.PartitionImage
		out.PartitionLayout = agent.PartitionLayout{
			RootMB: agent.Number(i.RootGB << 10), SwapMB: agent.Number(i.SwapMB), EphemeralMB: agent.Number(i.EphemeralGB << 10), EphemeralFormat: "ext4",
			DeployBootMode: "uefi", BootOption: "local", DiskLabel: "gpt",
		}
	}
	if i.Authorization != "" {
		out.Authorization = base64.StdEncoding.EncodeToString([]byte(i.Authorization))
	}
	return out
}

// name returns the file name in the image's URL.
func (i Info) name() string {
	u, err := url.Parse(i.Source)
	if err != nil {
		return ""
	}
	return path.Base(u.Path)
}

// fields reads fields of instance_info or driver_info. err is about the first field that has a
// wrong type.
type fields struct {
	of     string // the object that has them
	values map[string]any
	err    error
}

// text returns a string field, "" if it is missing or null.
func (f *fields) text(name string) string {
	switch v := f.values[name].(type) {
	case nil:
		return ""
	case string:
		return strings.TrimSpace(v)
	}
	f.wrong(name, "a string")
	return ""
}

// size returns a field that is a positive whole number or a string with one, 0 if it is missing.
func (f *fields) size(name string) int64 {
	v, given := f.values[name]
	if !given || v == nil || v == "" {
		return 0
	}
	n, ok := jsonvalue.IntOrText(v)
	if !ok || n <= 0 {
		f.wrong(name, "a whole number above zero")
		return 0
	}
	return n
}

// optionalSize is size for a field that may be 0.
func (f *fields) optionalSize(name string) int64 {
	if n, ok := jsonvalue.IntOrText(f.values[name]); ok && n == 0 {
		return 0
	}
	return f.size(name)
}

func (f *fields) wrong(name, want string) {
	if f.err == nil {
		f.err = fault.Coded(fault.ImageInvalid, "%s in %s must be %s", name, f.of, want)
	}
}

// invalid is the error for an image that can't be deployed as it is described: what is wrong, and with which image.
func (i *Info) invalid(format string, args ...any) error {
	return fault.Coded(fault.ImageInvalid, format+"; image %s", append(args, quotedURL(i.Source))...)
}

// quotedURL returns a URL for an error: shortened and with secrets masked.
func quotedURL(raw string) string {
	if _, err := url.Parse(raw); err != nil {
		return "(no URL)"
	}
	return agent.OneLine(mask.URLs(raw))
}
