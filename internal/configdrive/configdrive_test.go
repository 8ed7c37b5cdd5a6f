package configdrive

import (
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/diskfs/go-diskfs/backend/file"
	diskfs "github.com/diskfs/go-diskfs/filesystem/iso9660"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/iso9660"
)

const (
	nodeUUID = "c0ffee00-3b7e-4c3c-9a0e-2f4b3f6f7a11"
	cloud    = "#cloud-config\nhostname: ö\n"
)

var full = map[string]any{
	"meta_data":    map[string]any{"public_keys": map[string]any{"0": "ssh-ed25519 AAAA"}},
	"network_data": map[string]any{"links": []any{}, "networks": []any{}},
	"vendor_data":  map[string]any{"cloud-init": "#cloud-config"},
	"user_data":    cloud,
}

// contents is what every version folder of a drive built from full holds.
var contents = map[string]string{
	"meta_data.json":    `{"name":"n-1","public_keys":{"0":"ssh-ed25519 AAAA"},"uuid":"` + nodeUUID + `"}`,
	"network_data.json": `{"links":[],"networks":[]}`,
	"vendor_data2.json": `{"cloud-init":"#cloud-config"}`,
	"user_data":         cloud,
}

func build(t testing.TB, given any) []byte {
	t.Helper()
	d, err := Parse(given)
	require.NoError(t, err)
	text, err := d.ForAgent(nodeUUID, "n-1")
	require.NoError(t, err)
	return unpack(t, text)
}

func unpack(t testing.TB, text string) []byte {
	t.Helper()
	z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(text)))
	require.NoError(t, err)
	image, err := io.ReadAll(z)
	require.NoError(t, err)
	return image
}

func saved(t testing.TB, image []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "drive.iso")
	require.NoError(t, os.WriteFile(name, image, 0o600))
	return name
}

func TestDriveReadsBack(t *testing.T) {
	image := build(t, full)
	require.Zero(t, len(image)%iso9660.SectorSize)
	f, err := os.Open(saved(t, image))
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	fs, err := diskfs.Read(file.New(f, true), int64(len(image)), 0, iso9660.SectorSize)
	require.NoError(t, err)
	require.Equal(t, "config-2", strings.TrimRight(fs.Label(), " \x00"))
	for _, version := range []string{"latest", "2012-08-10"} {
		for name, want := range contents {
			got, err := fs.ReadFile("openstack/" + version + "/" + name)
			require.NoError(t, err)
			require.Equal(t, want, string(got), name)
		}
		entries, err := fs.ReadDir("openstack/" + version)
		require.NoError(t, err)
		require.Len(t, entries, len(contents))
	}
}

// Other programs read what instances will read. Each is used where it is installed.
func TestDriveReadsBackElsewhere(t *testing.T) {
	iso := saved(t, build(t, full))
	read := func(t *testing.T, tool string, args ...string) string {
		t.Helper()
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
		out, err := exec.CommandContext(t.Context(), tool, args...).Output()
		require.NoError(t, err)
		return string(out)
	}
	t.Run("isoinfo reads the Rock Ridge names", func(t *testing.T) {
		require.Contains(t, read(t, "isoinfo", "-d", "-i", iso), "Volume id: config-2")
		require.Equal(t, contents["meta_data.json"], read(t, "isoinfo", "-R", "-i", iso, "-x", "/openstack/latest/meta_data.json"))
	})
	t.Run("isoinfo reads the Joliet names", func(t *testing.T) {
		require.Equal(t, cloud, read(t, "isoinfo", "-J", "-i", iso, "-x", "/openstack/2012-08-10/user_data"))
	})
	t.Run("bsdtar unpacks it", func(t *testing.T) {
		dir := t.TempDir()
		read(t, "bsdtar", "-C", dir, "-xf", iso)
		got, err := os.ReadFile(filepath.Join(dir, "openstack/latest/vendor_data2.json"))
		require.NoError(t, err)
		require.Equal(t, contents["vendor_data2.json"], string(got))
	})
	t.Run("blkid finds the label", func(t *testing.T) {
		require.Contains(t, read(t, "blkid", "-p", "-o", "export", iso), "\nLABEL=config-2\n")
	})
}

// joliet lists the files of the Joliet tree by walking its records, as a
// reader without Rock Ridge does.
func joliet(image []byte, record []byte, at string, into map[string]string) {
	extent, size := binary.LittleEndian.Uint32(record[2:])*iso9660.SectorSize, binary.LittleEndian.Uint32(record[10:])
	data := image[extent : extent+size]
	if record[25]&2 == 0 {
		into[at] = string(data)
		return
	}
	for n := 0; len(data) > 0 && data[0] > 0; n++ {
		child := data[:data[0]]
		if n > 1 { // after itself and its parent
			units := make([]uint16, child[32]/2)
			for i := range units {
				units[i] = binary.BigEndian.Uint16(child[33+2*i:])
			}
			joliet(image, child, at+"/"+string(utf16.Decode(units)), into)
		}
		data = data[data[0]:]
	}
}

func TestJolietTreeIsWhole(t *testing.T) {
	image := build(t, full)
	got := map[string]string{}
	joliet(image, image[jolietDescriptor*iso9660.SectorSize+156:], "", got)
	want := map[string]string{}
	for _, version := range versions {
		for name, content := range contents {
			want["/openstack/"+version+"/"+name] = content
		}
	}
	require.Equal(t, want, got)
}

func TestEqualPartsMakeEqualDrives(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	first, err := Build(Parts{UserData: cloud}, nodeUUID, "")
	require.NoError(t, err)
	// Another second on the clock, and other folders read in between.
	begun := time.Now().Unix()
	require.Eventually(t, func() bool { return time.Now().Unix() > begun }, 30*time.Second, 20*time.Millisecond)
	second, err := Build(Parts{UserData: cloud}, nodeUUID, "")
	require.NoError(t, err)
	require.Equal(t, first, second)
	left, err := os.ReadDir(temp)
	require.NoError(t, err)
	require.Empty(t, left, "secrets may not stay behind")
}

func TestUserDataInItsForms(t *testing.T) {
	for name, c := range map[string]struct {
		given any
		want  string
	}{
		"text is left as it is":      {"{\"ignition\":{}}\n", "{\"ignition\":{}}\n"},
		"an object becomes JSON":     {map[string]any{"users": []any{"a"}}, `{"users":["a"]}`},
		"a list becomes JSON":        {[]any{"a", 1.0}, `["a",1]`},
		"bytes that look like dates": {strings.Repeat("TF\x1a\x01\x0e PX\x2c\x01", 500), strings.Repeat("TF\x1a\x01\x0e PX\x2c\x01", 500)},
	} {
		t.Run(name, func(t *testing.T) {
			image := build(t, map[string]any{"user_data": c.given})
			got := map[string]string{}
			joliet(image, image[jolietDescriptor*iso9660.SectorSize+156:], "", got)
			require.Equal(t, c.want, got["/openstack/latest/user_data"])
			require.Len(t, got, 4, "meta data is always there, the rest only where given")
		})
	}
}

func TestMetaDataOfTheUserWins(t *testing.T) {
	files, err := Parts{MetaData: map[string]any{"uuid": "mine"}}.files(nodeUUID, "n-1")
	require.NoError(t, err)
	require.JSONEq(t, `{"uuid":"mine","name":"n-1"}`, string(files["meta_data.json"]))
}

func packed(t testing.TB, image []byte) string {
	t.Helper()
	text, err := compress(image, MaxSize)
	require.NoError(t, err)
	return text
}

func TestReadyMadeDrivesAreLeftAlone(t *testing.T) {
	ready := packed(t, []byte("some file system"))
	for name, given := range map[string]string{
		"an image": ready, "with white space around it": "\n" + ready + " \n",
		"in lines": ready[:20] + "\n" + ready[20:],
	} {
		t.Run(name, func(t *testing.T) {
			d, err := Parse(given)
			require.NoError(t, err)
			got, err := d.ForAgent(nodeUUID, "")
			require.NoError(t, err)
			require.Equal(t, strings.TrimSpace(given), got)
		})
	}
	for _, url := range []string{"http://192.0.2.1/drive", "https://example.org/drive?a=b"} {
		d, err := Parse(url)
		require.NoError(t, err)
		got, err := d.ForAgent(nodeUUID, "")
		require.NoError(t, err)
		require.Equal(t, url, got)
	}
}

func TestWhatIsNoDrive(t *testing.T) {
	ready := packed(t, []byte(strings.Repeat("some file system", 100)))
	for name, c := range map[string]struct {
		given any
		want  fault.Kind
		text  string
	}{
		"nothing":                   {nil, fault.Invalid, "string or an object"},
		"a number":                  {1.0, fault.Invalid, "string or an object"},
		"an empty string":           {" ", fault.Invalid, "empty"},
		"a URL without host":        {"http://", fault.Invalid, "URL"},
		"a URL that is none":        {"http://[::1", fault.Invalid, "URL"},
		"another scheme":            {"ftp://example.org/drive", fault.Invalid, "neither a URL nor base64"},
		"no base64":                 {"se!cret!", fault.Invalid, "neither a URL nor base64"},
		"base64 without gzip":       {base64.StdEncoding.EncodeToString([]byte("secret secret")), fault.Invalid, "no gzipped image"},
		"half of an image":          {ready[:len(ready)/2], fault.Invalid, "no gzipped image"},
		"an empty image":            {packed(t, nil), fault.Invalid, "empty image"},
		"a bomb":                    {packed(t, make([]byte, MaxSize+1)), fault.TooLarge, "larger than"},
		"a text without end":        {strings.Repeat("A", MaxSize+1), fault.TooLarge, "larger than"},
		"a part of another type":    {map[string]any{"meta_data": "secret"}, fault.Invalid, "meta_data must be an object"},
		"user data of another type": {map[string]any{"user_data": 1.0}, fault.Invalid, "user_data must be"},
		"a part that nobody knows":  {map[string]any{"secrets": "x"}, fault.Invalid, `"secrets" is not one of`},
		"parts that are too large":  {map[string]any{"user_data": strings.Repeat("x", MaxSize/2)}, fault.TooLarge, "larger than"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(c.given)
			require.Equal(t, c.want, fault.KindOf(err))
			require.ErrorContains(t, err, c.text)
			require.NotContains(t, err.Error(), "secret ")
		})
	}
}

func TestDriveThatDoesNotShrink(t *testing.T) {
	noise := make([]byte, 3000)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(noise)
	text, err := compress(noise, 5000)
	require.NoError(t, err)
	require.Equal(t, noise, unpack(t, text))
	_, err = compress(noise, 3999)
	require.Equal(t, fault.TooLarge, fault.KindOf(err))
}

func FuzzParse(f *testing.F) {
	f.Add(`"https://example.org/x"`)
	f.Add(`"` + packed(f, []byte("x")) + `"`)
	b, _ := json.Marshal(full)
	f.Add(string(b))
	f.Add(`{"user_data":["TF\u001a\u0001\u000e"]}`)
	f.Fuzz(func(t *testing.T, document string) {
		var given any
		if json.Unmarshal([]byte(document), &given) != nil {
			t.Skip()
		}
		d, err := Parse(given)
		if err != nil {
			require.Contains(t, []fault.Kind{fault.Invalid, fault.TooLarge}, fault.KindOf(err))
			return
		}
		text, err := d.ForAgent(nodeUUID, "n")
		require.NoError(t, err)
		if d.Parts == nil {
			return
		}
		// Whatever was accepted as parts is a whole tree of the same files.
		image := unpack(t, text)
		got := map[string]string{}
		joliet(image, image[jolietDescriptor*iso9660.SectorSize+156:], "", got)
		files, err := d.Parts.files(nodeUUID, "n")
		require.NoError(t, err)
		for name, content := range files {
			require.Equal(t, string(content), got[fmt.Sprintf("/openstack/%s/%s", versions[1], name)])
		}
	})
}
