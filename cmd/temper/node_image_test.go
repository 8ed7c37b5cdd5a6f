package main

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// deployed is an API with one node, which takes PATCHes as Ironic does.
type deployed struct {
	t      *testing.T
	node   map[string]any
	status int    // of the answer to a provision request that the node's state allows; 0 = accepted
	words  string // with it
	patch  int    // of the second PATCH; 0 = it is taken
	asked  []string
}

func (d *deployed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	d.asked = append(d.asked, r.Method)
	info := d.node["instance_info"].(map[string]any)
	refuse := func(status int, words string) {
		w.WriteHeader(status)
		_, _ = w.Write(faultOf(words))
	}
	switch state := d.node["provision_state"].(string); {
	case r.Method == http.MethodPatch && d.patch != 0 && len(d.asked) > 3:
		refuse(d.patch, "Node u is locked by host c1.")
	case r.Method == http.MethodPatch:
		var changes []struct {
			Op, Path string
			Value    any
		}
		if err := json.Unmarshal(body, &changes); err != nil {
			d.t.Error(err)
		}
		for _, c := range changes {
			key := strings.TrimPrefix(c.Path, "/instance_info/")
			if c.Op == "add" {
				info[key] = c.Value
				continue
			}
			if _, there := info[key]; !there {
				d.t.Error("what is not there is taken away: ", key)
			}
			delete(info, key)
		}
		_, _ = w.Write([]byte(`{}`))
	case r.Method == http.MethodPut && d.node["reservation"] != nil:
		refuse(409, "Node u is locked by host c1, please retry after the current operation is completed.")
	case r.Method == http.MethodPut && state != "available":
		refuse(400, refused("u", "active", state))
	case r.Method == http.MethodPut && strings.Contains(string(body), "clean_steps"):
		refuse(400, `"clean_steps" is only valid when setting target provision state to clean.`)
	case r.Method == http.MethodPut && d.status != 0:
		refuse(d.status, d.words)
	case r.Method == http.MethodPut:
		w.WriteHeader(http.StatusAccepted)
	default:
		_ = json.NewEncoder(w).Encode(d.node)
		if after := d.node["after"]; after != nil {
			d.node["provision_state"] = after
		}
	}
}

func TestADeployThatIsRefusedChangesNothing(t *testing.T) {
	earlier := `{"image_source":"http://i/old","image_checksum":"http://i/SUMS","root_gb":12345678901234567890,"kept":[1],"none":null}`
	const args = "node deploy n1 --image http://i/new --checksum http://i/NEW --instance-info root_gb=5 --instance-info added=1 --instance-info none=2"
	const asItWas = "; instance_info was put back as it was"
	noted := `{"image_source":"http://i/new","image_checksum":"http://i/NEW","root_gb":5,"kept":[1],"added":1,"none":2}`
	masked := strings.Replace(earlier, "http://i/old", "******", 1)
	for name, c := range map[string]struct {
		state, after, reservation string
		earlier                   string
		status                    int
		words                     string
		patch                     int
		asked                     string
		err                       string // part of it
		info                      string // afterwards
	}{
		"one that is taken":              {state: "available", asked: "GET PATCH PUT GET", info: noted},
		"a state that does not allow it": {state: "active", asked: "GET PUT", err: `while it is in state "active"`},
		"a node that is held":            {state: "available", reservation: "c1", asked: "GET PUT", err: "is locked by host c1"},
		"a state that comes to allow it": {state: "cleaning", after: "available", asked: "GET PUT PATCH PUT GET", info: noted},
		"a refusal that comes later":     {state: "available", status: 400, words: "Missing are: ['x'].", asked: "GET PATCH PUT PATCH", err: "Missing are: ['x']" + asItWas},
		"nobody who could do it":         {state: "available", status: 503, words: "Later.", asked: "GET PATCH PUT PATCH", err: "Later" + asItWas},
		"a secret that is not known here": {
			state: "available", earlier: masked, status: 400, words: "No.", asked: "GET PATCH PUT PATCH",
			err:  "No; instance_info was put back but for image_source, which was secret: give it anew",
			info: strings.Replace(earlier, "old", "new", 1),
		},
		"a node that was taken meanwhile": {
			state: "available", status: 409, words: "Taken.", patch: 409, asked: "GET PATCH PUT PATCH",
			err: "Taken; instance_info was changed and could not be put back: Node u is locked by host c1", info: noted,
		},
		"one that may have been accepted": {
			state: "available", status: 500, words: "Oops.", asked: "GET PATCH PUT",
			err: "Oops; what was noted in instance_info stays there", info: noted,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if c.earlier == "" {
				c.earlier = earlier
			}
			if c.info == "" {
				c.info = earlier
			}
			d := &deployed{t: t, status: c.status, words: c.words, patch: c.patch, node: map[string]any{"provision_state": c.state}}
			if c.reservation != "" {
				d.node["reservation"] = c.reservation
			}
			if c.after != "" {
				d.node["after"] = c.after
			}
			d.node["instance_info"] = infoFrom(t, c.earlier)
			got := ask(t, serving(t, d.ServeHTTP), "", strings.Fields(args)...)
			require.Equal(t, c.asked, strings.Join(d.asked, " "))
			if c.err == "" {
				require.NoError(t, got.failed)
			} else {
				require.ErrorContains(t, got.failed, c.err)
			}
			want := infoFrom(t, c.info)
			if _, nulled := d.node["instance_info"].(map[string]any)["none"]; !nulled {
				delete(want, "none") // null is nothing
			}
			require.Equal(t, want, d.node["instance_info"])
		})
	}
}

func infoFrom(t *testing.T, doc string) map[string]any {
	t.Helper()
	var info map[string]any
	require.NoError(t, json.Unmarshal([]byte(doc), &info))
	return info
}
