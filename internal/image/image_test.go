package image_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/image"
)

const (
	node   = "c0ffee00-3b7e-4c3c-9a0e-2f4b3f6f7a11"
	source = "http://192.0.2.1:8080/images/cirros-0.6.3.qcow2"
)

var (
	md5sum    = strings.Repeat("ab", 16)
	sha256sum = strings.Repeat("ab", 32)
	sha512sum = strings.Repeat("ab", 64)
)

// with is an instance_info that is right but for the given changes; nil removes.
func with(changes ...any) map[string]any {
	info := map[string]any{"image_source": source, "image_os_hash_algo": "sha256", "image_os_hash_value": sha256sum}
	for n := 0; n < len(changes); n += 2 {
		if changes[n+1] == nil {
			delete(info, changes[n].(string))
			continue
		}
		info[changes[n].(string)] = changes[n+1]
	}
	return info
}

// plain is with a checksum in image_checksum only.
func plain(checksum string) map[string]any {
	return with("image_os_hash_algo", nil, "image_os_hash_value", nil, "image_checksum", checksum)
}

func TestImagesThatAreAccepted(t *testing.T) {
	for name, c := range map[string]struct {
		info           map[string]any
		policy         image.Policy
		algo, checksum string
	}{
		"algorithm and value":             {with(), image.Policy{}, "sha256", sha256sum},
		"in upper case":                   {with("image_os_hash_algo", "SHA512", "image_os_hash_value", strings.ToUpper(sha512sum)), image.Policy{}, "sha512", sha512sum},
		"a checksum of 64 digits":         {plain(sha256sum), image.Policy{}, "sha256", sha256sum},
		"a checksum of 128 digits":        {plain(sha512sum), image.Policy{}, "sha512", sha512sum},
		"a checksum of 96 digits":         {plain(strings.Repeat("ab", 48)), image.Policy{}, "sha384", strings.Repeat("ab", 48)},
		"sha384 and value":                {with("image_os_hash_algo", "sha384", "image_os_hash_value", strings.Repeat("ab", 48)), image.Policy{}, "sha384", strings.Repeat("ab", 48)},
		"a checksum that says what it is": {plain("SHA256:" + sha256sum), image.Policy{}, "sha256", sha256sum},
		"the better of two":               {with("image_checksum", md5sum), image.Policy{}, "sha256", sha256sum},
		"md5 where it is allowed":         {plain(md5sum), image.Policy{AllowMD5: true}, "md5", md5sum},
		"a file of checksums":             {plain("https://example.org/SHA256SUMS"), image.Policy{}, "", "https://example.org/SHA256SUMS"},
		"a file and its algorithm":        {with("image_os_hash_value", "https://example.org/SUMS"), image.Policy{}, "sha256", "https://example.org/SUMS"},
		"null where nothing is given":     {with("image_checksum", any(nil), "kernel", "", "root_gb", ""), image.Policy{}, "sha256", sha256sum},
		"whole-disk, raw, over http": {
			with("image_type", "whole-disk", "image_disk_format", "RAW", "image_download_source", "http", "root_gb", "10"),
			image.Policy{},
			"sha256", sha256sum,
		},
	} {
		t.Run(name, func(t *testing.T) {
			i, err := image.Parse(node, c.info, nil, c.policy)
			require.NoError(t, err)
			require.Equal(t, c.algo, i.Algo)
			require.Equal(t, c.checksum, i.Checksum)
			require.Equal(t, "bare", i.Container)
		})
	}
}

func TestImagesThatAreRefused(t *testing.T) {
	const noChecksum = `image_source's "image_checksum", or "image_os_hash_algo" and "image_os_hash_value" must be provided in instance_info for node ` + node
	for name, c := range map[string]struct {
		info   map[string]any
		driver map[string]any
		policy image.Policy
		text   string
	}{
		"no image": {with("image_source", nil), nil, image.Policy{}, "Cannot validate image information for node " + node +
			" because one or more parameters are missing from its instance_info and insufficient information is present" +
			" to boot from a remote volume. Missing are: ['image_source']"},
		"nothing at all":              {nil, nil, image.Policy{}, "Missing are: ['image_source']"},
		"no checksum":                 {plain(""), nil, image.Policy{}, noChecksum},
		"an algorithm without value":  {with("image_os_hash_value", nil), nil, image.Policy{}, noChecksum},
		"a value without algorithm":   {with("image_os_hash_algo", nil), nil, image.Policy{}, noChecksum},
		"md5":                         {plain(md5sum), nil, image.Policy{}, "is MD5, which is refused because MD5 can be forged: give image_os_hash_algo sha256, sha384 or sha512 with image_os_hash_value, or set allow_md5_checksum"},
		"md5 by name":                 {with("image_os_hash_algo", "md5", "image_os_hash_value", md5sum), nil, image.Policy{}, "is MD5"},
		"md5 in a file":               {with("image_os_hash_algo", "md5", "image_os_hash_value", "https://example.org/MD5SUMS"), nil, image.Policy{}, "is MD5"},
		"sha1":                        {with("image_os_hash_algo", "sha1", "image_os_hash_value", strings.Repeat("ab", 20)), nil, image.Policy{}, `"sha1"`},
		"a length of no algorithm":    {plain(sha256sum[1:]), nil, image.Policy{}, "is no digest"},
		"digits that are none":        {plain("x" + sha256sum[1:]), nil, image.Policy{}, "is no digest"},
		"the length of another one":   {with("image_os_hash_algo", "sha512"), nil, image.Policy{}, "length of a sha256 digest"},
		"a prefix that lies":          {plain("sha512:" + sha256sum), nil, image.Policy{}, "length of a sha256 digest"},
		"a file where none may be":    {plain("https://example.org/SUMS"), nil, image.Policy{RefuseChecksumURLs: true}, "switched off"},
		"an image of another service": {with("image_source", "glance://abc"), nil, image.Policy{}, "it names no id of an image"},
		"a file with dots":            {with("image_source", "file:///images/../etc/shadow"), nil, image.Policy{}, "without .. in it"},
		"an id":                       {with("image_source", "c0ffee00"), nil, image.Policy{}, "only http, https, file, oci"},
		"no URL":                      {with("image_source", "http://[::1"), nil, image.Policy{}, "it is no URL"},
		"no file":                     {with("image_source", "http://192.0.2.1/"), nil, image.Policy{}, "it names no file"},
		"a number as image":           {with("image_source", 5.0), nil, image.Policy{}, "image_source in instance_info must be a string"},
		"another format":              {with("image_disk_format", "vmdk"), nil, image.Policy{}, `"vmdk"`},
		"a partition without size":    {with("image_type", "partition"), nil, image.Policy{}, "needs root_gb"},
		"kernel and ramdisk":          {with("kernel", "http://a/k", "ramdisk", "http://a/r"), nil, image.Policy{}, "needs root_gb"},
		"swap of no size":             {with("image_type", "partition", "root_gb", 9, "swap_mb", "much"), nil, image.Policy{}, "swap_mb"},
		"an ephemeral xfs":            {with("image_type", "partition", "root_gb", 9, "ephemeral_gb", 1, "ephemeral_format", "xfs"), nil, image.Policy{}, "use ext4"},
		"an ephemeral that stays":     {with("image_type", "partition", "root_gb", 9, "preserve_ephemeral", true), nil, image.Policy{}, "preserve_ephemeral is not supported"},
		"a type that nobody knows":    {with("image_type", "half-disk"), nil, image.Policy{}, "Invalid image_type"},
		"another way":                 {with("image_download_source", "swift"), nil, image.Policy{}, `"swift"`},
		"a file over http":            {with("image_source", "file:///images/a", "image_download_source", "http"), nil, image.Policy{}, "agents can't fetch images from file"},
		"a size below zero":           {with("root_gb", -1.0), nil, image.Policy{}, "root_gb"},
		"a size that is no number":    {with("root_gb", "big"), nil, image.Policy{}, "root_gb"},
		"half a gigabyte":             {with("root_gb", 0.5), nil, image.Policy{}, "root_gb"},
		"a proxy of another scheme":   {with(), map[string]any{"image_http_proxy": "socks5://secret@proxy"}, image.Policy{}, "image_http_proxy"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := image.Parse(node, c.info, c.driver, c.policy)
			require.Equal(t, fault.Invalid, fault.KindOf(err))
			require.ErrorContains(t, err, c.text)
			require.NotContains(t, err.Error(), "secret")
			ironics := strings.Contains(c.text, "Missing are: ") || c.text == noChecksum
			require.Equal(t, ironics, strings.Contains(err.Error(), node), "only Ironic's texts name the node, which who shows them knows: %v", err)
		})
	}
}

// image_os_hash_value takes precedence, as in Ironic. What has no effect is told, and a contradiction is refused.
func TestOfTwoChecksumsIsToldWhichHasNoEffect(t *testing.T) {
	for name, c := range map[string]struct {
		checksum, unused, refused string
	}{
		"of another algorithm":          {md5sum, "image_checksum", ""},
		"a file of checksums":           {"https://example.org/SUMS", "image_checksum", ""},
		"the same":                      {strings.ToUpper(sha256sum), "", ""},
		"the same, with its algorithm":  {"sha256:" + sha256sum, "", ""},
		"another one":                   {strings.Repeat("cd", 32), "", "image_checksum and image_os_hash_value are different sha256 digests"},
		"another one, by its algorithm": {"sha256:" + strings.Repeat("cd", 32), "", "are different sha256 digests"},
	} {
		i, err := image.Parse(node, with("image_checksum", c.checksum), nil, image.Policy{})
		if c.refused != "" {
			require.ErrorContains(t, err, c.refused, name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, c.unused, i.Unused, name)
	}
}

// What was wrong comes first, then with which image.
func TestWhatIsWrongWithAnImage(t *testing.T) {
	for want, info := range map[string]map[string]any{
		"image_checksum is no digest: want 64 (sha256), 96 (sha384) or 128 (sha512) hexadecimal digits, or the URL of a file with them": plain("abc"),
		`image_disk_format "vmdk" is not supported, use raw, gpt or qcow2`:                                                              with("image_disk_format", "vmdk"),
		"image_os_hash_value has the length of a sha256 digest, but the algorithm is given as sha512":                                   with("image_os_hash_algo", "sha512"),
	} {
		info["image_source"] = "https://user:secret@example.org/disk.img?sig=secret"
		_, err := image.Parse(node, info, nil, image.Policy{})
		require.EqualError(t, err, want+"; image https://******@example.org/disk.img?sig=******")
	}
}

func TestSecretsOfAURLStayOutOfErrors(t *testing.T) {
	_, err := image.Parse(node, with("image_source", "ftp://user:secret@192.0.2.1/a?sig=secret"), nil, image.Policy{})
	require.ErrorContains(t, err, "ftp://******@192.0.2.1/a?sig=****** ")
	require.NotContains(t, err.Error(), "secret")
}

// The dictionary is the one that the real conductor sends (drivers/modules/agent.py, write_image).
func TestImageInfoForTheAgent(t *testing.T) {
	i, err := image.Parse(node,
		with("image_disk_format", "qcow2", "image_request_authorization_secret", "Bearer f00", "image_source", source+"?sig=x"),
		map[string]any{"image_http_proxy": "http://192.0.2.9:3128", "image_no_proxy": ".example.org"}, image.Policy{})
	require.NoError(t, err)
	b, err := json.Marshal(i.ForAgent())
	require.NoError(t, err)
	require.JSONEq(t, `{
		"id": "cirros-0.6.3.qcow2", "urls": ["`+source+`?sig=x"], "disk_format": "qcow2", "container_format": "bare",
		"stream_raw_images": true, "os_hash_algo": "sha256", "os_hash_value": "`+sha256sum+`", "node_uuid": "`+node+`",
		"proxies": {"http": "http://192.0.2.9:3128"}, "no_proxy": ".example.org",
		"image_request_authorization": "`+base64.StdEncoding.EncodeToString([]byte("Bearer f00"))+`"
	}`, string(b))

	i, err = image.Parse(node, plain("https://example.org/SUMS"), nil, image.Policy{})
	require.NoError(t, err)
	out := i.ForAgent()
	require.Equal(t, "https://example.org/SUMS", out.Checksum)
	require.Empty(t, out.HashAlgo+out.HashValue)
}

func FuzzParse(f *testing.F) {
	for _, info := range []map[string]any{with(), plain(md5sum), plain("https://a/b"), with("root_gb", 1e300)} {
		b, _ := json.Marshal(info)
		f.Add(string(b))
	}
	f.Fuzz(func(t *testing.T, document string) {
		var info map[string]any
		if json.Unmarshal([]byte(document), &info) != nil {
			t.Skip()
		}
		i, err := image.Parse(node, info, info, image.Policy{})
		if err != nil {
			require.Equal(t, fault.Invalid, fault.KindOf(err))
			return
		}
		out := i.ForAgent()
		require.NotEmpty(t, out.ID)
		require.NotEmpty(t, out.Checksum+out.HashValue, "an image is never written unchecked")
	})
}

func TestWhoFetchesAnImage(t *testing.T) {
	local := map[string]any{"image_download_source": "local"}
	for name, c := range map[string]struct {
		info, driver map[string]any
		policy       image.Policy
		scheme       image.Scheme
		local        bool
	}{
		"the agent":                  {with(), nil, image.Policy{}, image.HTTP, false},
		"Temper, says the instance":  {with("image_download_source", "local"), nil, image.Policy{}, image.HTTP, true},
		"Temper, says the node":      {with(), local, image.Policy{}, image.HTTP, true},
		"the instance counts first":  {with("image_download_source", "http"), local, image.Policy{Local: true}, image.HTTP, false},
		"Temper, says the site":      {with(), nil, image.Policy{Local: true}, image.HTTP, true},
		"Temper, a file":             {with("image_source", "file:///images/a.raw"), nil, image.Policy{}, image.File, true},
		"Temper, an artifact":        {map[string]any{"image_source": "oci://registry.example/a:1"}, nil, image.Policy{}, image.OCI, true},
		"Temper, an image of Glance": {map[string]any{"image_source": "0d2f3b3a-7d5c-4d5e-9c53-2f2d2c0b1a11"}, nil, image.Policy{}, image.Glance, true},
		"the same as a URL":          {map[string]any{"image_source": "glance://0d2f3b3a-7d5c-4d5e-9c53-2f2d2c0b1a11"}, nil, image.Policy{}, image.Glance, true},
	} {
		t.Run(name, func(t *testing.T) {
			i, err := image.Parse(node, c.info, c.driver, c.policy)
			require.NoError(t, err)
			require.Equal(t, c.local, i.Local)
			require.Equal(t, c.scheme, i.Scheme())
		})
	}
}

// Ironic drivers/modules/agent.py, PARTITION_IMAGE_LABELS: sizes in MiB.
func TestAnImageOfAPartitionSaysHowTheDiskIsPartitioned(t *testing.T) {
	for name, info := range map[string]map[string]any{
		"by its type":            with("image_type", "partition", "root_gb", "10", "swap_mb", 512, "ephemeral_gb", 0),
		"by kernel and ramdisk":  with("kernel", "k", "ramdisk", "r", "root_gb", 10, "swap_mb", "512"),
		"with nothing preserved": with("image_type", "partition", "root_gb", 10, "swap_mb", 512, "preserve_ephemeral", false),
	} {
		i, err := image.Parse(node, info, nil, image.Policy{})
		require.NoError(t, err, name)
		out := i.ForAgent()
		require.Equal(t, "partition", out.ImageType)
		require.Equal(t, agent.PartitionLayout{RootMB: 10240, SwapMB: 512, EphemeralFormat: "ext4", DeployBootMode: "uefi", BootOption: "local", DiskLabel: "gpt"}, out.PartitionLayout)
	}
	i, err := image.Parse(node, with("image_type", "whole-disk", "kernel", "k", "ramdisk", "r", "swap_mb", "much"), nil, image.Policy{})
	require.NoError(t, err)
	require.Empty(t, i.ForAgent().ImageType)
	require.Zero(t, i.ForAgent().PartitionLayout)
}
