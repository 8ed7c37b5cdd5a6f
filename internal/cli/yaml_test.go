package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api"
)

const oddNumbers = `[9007199254740993,18446744073709551615,12345678901234567890123,1.0,-1.50]`

func TestAFileKeepsItsNumbers(t *testing.T) {
	for _, text := range []string{oddNumbers, "&a\n- 9007199254740993\n- 18446744073709551615\n- 12345678901234567890123\n- 1.0\n- -1.50\n"} {
		v, err := readYAML([]byte(text))
		require.NoError(t, err)
		raw, err := json.Marshal(v)
		require.NoError(t, err)
		require.Equal(t, oddNumbers, string(raw))
	}
	v, err := readYAML([]byte("a: &a {x: 0x10, y: .5, z: ~}\nb: *a\nc: {<<: *a, x: yes}"))
	require.NoError(t, err)
	a := map[string]any{"x": 16, "y": 0.5, "z": nil}
	require.Equal(t, map[string]any{"a": a, "b": a, "c": map[string]any{"x": "yes", "y": 0.5, "z": nil}}, v)
	_, err = readYAML([]byte("a: &a [*a]"))
	require.Error(t, err)
}

func TestNumbersReachTheAPIAndComeBack(t *testing.T) {
	url := serverURL(t, api.Auth{})
	file := filepath.Join(t.TempDir(), "extra.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"file":`+oddNumbers+`}`), 0o600))
	run := func(args ...string) (string, error) {
		var out, errs bytes.Buffer
		err := execute(t.Context(), append(args, "--api", url), strings.NewReader(""), &out, &errs)
		return out.String(), err
	}
	_, err := run("node", "create", "n1", "--driver", "fake-hardware", "--extra", "given="+oddNumbers, "--extra", "@"+file)
	require.NoError(t, err)
	_, err = run("node", "set", "n1", "--property", "set="+oddNumbers)
	require.NoError(t, err)
	for _, args := range [][]string{{"node", "list", "--fields", "extra,properties"}, {"node", "show", "n1"}} {
		out, err := run(append(args, "-o", "json")...)
		require.NoError(t, err)
		flat := strings.NewReplacer("\n", "", " ", "").Replace(out)
		require.Contains(t, flat, `"file":`+oddNumbers, args)
		require.Contains(t, flat, `"given":`+oddNumbers, args)
		require.Contains(t, flat, `"set":`+oddNumbers, args)
	}
	_, err = run("node", "set", "n1", "--driver-info", "redfish_password=caf\xe9")
	require.ErrorContains(t, err, "not valid UTF-8")
	_, err = run("node", "set", "n1", "--extra", `a=\ufffd`+"\ufffd")
	require.NoError(t, err)
}
