package cli

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"go.temper.dev/temper/internal/cli/exit"
	"go.temper.dev/temper/internal/mask"
)

func TestPairs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bmc.yaml")
	require.NoError(t, os.WriteFile(file, []byte("redfish_password: hunter2\nredfish_verify_ca: false\n"), 0o600))
	empty, null := filepath.Join(t.TempDir(), "empty.yaml"), filepath.Join(t.TempDir(), "null.yaml")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	require.NoError(t, os.WriteFile(null, []byte("redfish_password: hunter2\nredfish_verify_ca:\n"), 0o600))
	for name, c := range map[string]struct {
		given []string
		text  bool
		want  map[string]any
		err   string
	}{
		"text is text":                       {given: []string{"a=b c"}, want: map[string]any{"a": "b c"}},
		"only the first = separates":         {given: []string{"a=b=c"}, want: map[string]any{"a": "b=c"}},
		"an empty value is one":              {given: []string{"a="}, want: map[string]any{"a": ""}},
		"JSON is JSON":                       {given: []string{`a={"b":[1,true]}`}, want: map[string]any{"a": map[string]any{"b": []any{json.Number("1"), true}}}},
		"long numbers lose nothing":          {given: []string{"a=12345678901234567890"}, want: map[string]any{"a": json.Number("12345678901234567890")}},
		"quotes make text of a number":       {given: []string{`a="1"`}, want: map[string]any{"a": "1"}},
		"what only begins as JSON is text":   {given: []string{`a={b`, `c=1 2`}, want: map[string]any{"a": "{b", "c": "1 2"}},
		"a password of digits is text":       {given: []string{"redfish_password=123456"}, want: map[string]any{"redfish_password": "123456"}},
		"a token that looks like JSON, too":  {given: []string{"api_token=true"}, want: map[string]any{"api_token": "true"}},
		"the last one counts":                {given: []string{"a=1", "a=x"}, want: map[string]any{"a": "x"}},
		"a file has an object":               {given: []string{"@" + file, "b=x"}, want: map[string]any{"redfish_password": "hunter2", "redfish_verify_ca": false, "b": "x"}},
		"strings where the API wants them":   {given: []string{"port_id=1"}, text: true, want: map[string]any{"port_id": "1"}},
		"no =":                               {given: []string{"hunter2"}, err: "want KEY=VALUE"},
		"no key":                             {given: []string{"=hunter2"}, err: "want KEY=VALUE"},
		"null is not a value":                {given: []string{"a=null"}, err: "temper node unset"},
		"null in a file is not one either":   {given: []string{"@" + null}, err: "redfish_verify_ca is null"},
		"an empty file changes nothing":      {given: []string{"@" + empty}, err: "has no fields"},
		"a file that is not there":           {given: []string{"@/nowhere/x"}, err: "no such file"},
		"a file that holds something else":   {given: []string{"@values_test.go"}, err: "no object"},
		"an error does not repeat the value": {given: []string{"hunter2"}, err: "want KEY=VALUE"},
	} {
		t.Run(name, func(t *testing.T) {
			p := keyValues{text: c.text}
			var err error
			for _, one := range c.given {
				if err = p.Set(one); err != nil {
					break
				}
			}
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				require.NotContains(t, err.Error(), "hunter2")
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, p.values)
		})
	}
}

func FuzzPairsKeepSecretsAsTheyAre(f *testing.F) {
	f.Add("redfish_password", "1e3")
	f.Add("x", `{"a":`)
	f.Fuzz(func(t *testing.T, key, value string) {
		if key == "" || strings.Contains(key, "=") || strings.HasPrefix(key, "@") {
			t.Skip()
		}
		var p keyValues
		if p.Set(key+"="+value) != nil {
			require.Equal(t, "null", strings.TrimSpace(value))
			return
		}
		if mask.IsSecretKey(key) {
			require.Equal(t, value, p.values[key])
		}
	})
}

func TestSteps(t *testing.T) {
	file := filepath.Join(t.TempDir(), "steps.yaml")
	require.NoError(t, os.WriteFile(file, []byte("- interface: deploy\n  step: erase_devices\n"), 0o600))
	want := []any{map[string]any{"interface": "deploy", "step": "erase_devices"}}
	for _, given := range []string{file, `[{"interface":"deploy","step":"erase_devices"}]`, ` [{"interface": "deploy", "step": "erase_devices"}]`} {
		got, err := readSteps("clean-steps", given)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	none, err := readSteps("clean-steps", "")
	require.NoError(t, err)
	require.Nil(t, none)
	for _, wrong := range []string{"[", "[]", "/nowhere/steps", `{"interface":"deploy"}`} {
		_, err := readSteps("clean-steps", wrong)
		require.ErrorContains(t, err, "--clean-steps wants a list", wrong)
		require.Equal(t, exit.CodeUsage, exit.Code(err))
	}
}

// iso is the least that is taken for an ISO 9660 image.
func iso() []byte {
	image := make([]byte, 0x8800)
	copy(image[0x8001:], "CD001")
	return image
}

func TestConfigDrives(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, content, 0o600))
		return path
	}
	write("flat/meta_data.json", []byte(`{"hostname":"h1"}`))
	write("flat/user_data", []byte("#cloud-config\n"))
	write("tree/openstack/latest/network_data.json", []byte(`{"links":[]}`))
	write("tree/openstack/latest/vendor_data.json", []byte(`{"v":1}`))
	write("bad/meta_data.json", []byte(`[1]`))
	write("binary/user_data", []byte{0xff, 0xfe, 0x00})
	write("empty/readme", nil)
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, err := z.Write(iso())
	require.NoError(t, err)
	require.NoError(t, z.Close())
	ready := base64.StdEncoding.EncodeToString(zipped.Bytes())
	for name, c := range map[string]struct {
		given string
		want  any // nil = any string
		err   string
	}{
		"a URL stays one":            {given: "http://example.org/drive", want: "http://example.org/drive"},
		"a folder of files":          {given: filepath.Join(dir, "flat"), want: map[string]any{"meta_data": map[string]any{"hostname": "h1"}, "user_data": "#cloud-config\n"}},
		"a folder as on the drive":   {given: filepath.Join(dir, "tree"), want: map[string]any{"network_data": map[string]any{"links": []any{}}, "vendor_data": map[string]any{"v": json.Number("1")}}},
		"an object of parts":         {given: write("parts.json", []byte(` {"user_data":"x"}`)), want: map[string]any{"user_data": "x"}},
		"what is ready":              {given: write("ready", []byte(ready+"\n")), want: ready},
		"an image, gzipped":          {given: write("drive.gz", zipped.Bytes()), want: ready},
		"an image":                   {given: write("drive.iso", iso())},
		"a URL of nobody":            {given: "http://", err: "URL"},
		"a file that is not there":   {given: filepath.Join(dir, "nowhere"), err: "no such file"},
		"a folder without its files": {given: filepath.Join(dir, "empty"), err: "has none of meta_data.json"},
		"meta data that is a list":   {given: filepath.Join(dir, "bad"), err: "meta_data.json is no JSON object"},
		"user data that is no text":  {given: filepath.Join(dir, "binary"), err: "user_data is not text"},
		"a part that is none":        {given: write("wrong.json", []byte(`{"userdata":"x"}`)), err: "userdata"},
		"broken JSON":                {given: write("broken.json", []byte(`{"`)), err: "read its JSON"},
		"something else":             {given: write("note.txt", []byte("dear diary")), err: "neither a URL nor base64"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readConfigDrive(c.given)
			switch {
			case c.err != "":
				require.ErrorContains(t, err, c.err)
				require.ErrorContains(t, err, "--config-drive "+c.given)
			case c.want != nil:
				require.NoError(t, err)
				require.Equal(t, c.want, got)
			default:
				require.NoError(t, err)
				require.IsType(t, "", got)
			}
		})
	}
}

func TestYAMLSaysWhatJSONSays(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test
	var value func(depth int) any
	words := []string{"", "true", "null", "1", "1e3", "0x1f", "~", "a: b", "- x", "#", "line\nbreak", "tab\t", "\u2028", "ä😀", `"quoted"`, "'", "2026-01-01", "yes", " x ", "\x7f", "\u0085"}
	value = func(depth int) any {
		switch n := random.IntN(7); {
		case n == 0 && depth < 4:
			m := map[string]any{}
			for range random.IntN(4) {
				m[words[random.IntN(len(words))]] = value(depth + 1)
			}
			return m
		case n == 1 && depth < 4:
			l := make([]any, random.IntN(4))
			for i := range l {
				l[i] = value(depth + 1)
			}
			return l
		case n == 2:
			return random.IntN(2) == 0
		case n == 3:
			return nil
		case n == 4:
			return math.Round(random.Float64()*1e6) / 1e3
		}
		return words[random.IntN(len(words))]
	}
	for range 2000 {
		raw, err := json.Marshal(value(0))
		require.NoError(t, err)
		text, err := yamlOf(raw)
		require.NoError(t, err, string(raw))
		var have any
		require.NoError(t, yaml.Unmarshal(text, &have), string(text))
		again, err := json.Marshal(have)
		require.NoError(t, err)
		require.JSONEq(t, string(raw), string(again), string(text))
	}
}

// A password can be given in a way that shows it to nobody.
func TestAPasswordIsAskedFor(t *testing.T) {
	for in, want := range map[string]string{"hunter2\n": "hunter2", "a b\r\nmore": "a b", "last": "last", "": "", "\n": ""} {
		var p keyValues
		require.NoError(t, p.Set("redfish_password=-"))
		require.NoError(t, p.Set("redfish_username=-"))
		err := p.ask(strings.NewReader(in), io.Discard)
		if want == "" {
			require.ErrorContains(t, err, "redfish_password is empty")
			continue
		}
		require.NoError(t, err)
		require.Equal(t, map[string]any{"redfish_password": want, "redfish_username": "-"}, p.values)
	}
}
