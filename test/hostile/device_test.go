package hostile_test

import (
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// device is a BMC and an agent that send malicious answers.
type device struct {
	*httptest.Server
	ca             string
	asBMC, asAgent atomic.Int64 // how often it was asked

	mu     sync.Mutex
	random *rand.Rand
}

func newDevice(t *testing.T, seed uint64) *device {
	d := &device{random: rand.New(rand.NewPCG(seed, 2))}
	d.Server = httptest.NewUnstartedServer(http.HandlerFunc(d.answer))
	d.Config.ErrorLog = log.New(io.Discard, "", 0)
	d.StartTLS()
	t.Cleanup(d.Close)
	d.ca = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: d.Certificate().Raw}))
	return d
}

// next returns a random generator for one answer.
func (d *device) next() *rand.Rand {
	d.mu.Lock()
	defer d.mu.Unlock()
	return rand.New(rand.NewPCG(d.random.Uint64(), 3))
}

func (d *device) answer(w http.ResponseWriter, req *http.Request) {
	if strings.HasPrefix(req.URL.Path, "/redfish") {
		d.asBMC.Add(1)
	} else {
		d.asAgent.Add(1)
	}
	r := d.next()
	w.Header().Set("Content-Type", "application/json")
	if known := wellKnown[strings.TrimSuffix(req.URL.Path, "/")]; known != "" && r.IntN(4) > 0 {
		_, _ = io.WriteString(w, known)
		return
	}
	if r.IntN(8) == 0 {
		w.WriteHeader([]int{http.StatusUnauthorized, http.StatusNotFound, http.StatusConflict, http.StatusInternalServerError, http.StatusServiceUnavailable}[r.IntN(5)])
	}
	size := []int{100, 64 << 10, mib, 4 * mib, 12 * mib, 70 * mib}[r.IntN(6)]
	_, _ = io.Copy(w, d.body(r, req.URL.Path, size)) // the client may hang up
}

func (d *device) body(r *rand.Rand, path string, size int) io.Reader {
	if !strings.HasPrefix(path, "/redfish") {
		switch r.IntN(5) {
		case 0:
			return document(r, size, "commands")
		case 1:
			return io.MultiReader(strings.NewReader(`{"command_status":"SUCCEEDED","command_result":{"deploy_steps":{"a":`), hard(r, size), strings.NewReader(`}}}`))
		case 2:
			return io.MultiReader(strings.NewReader(`{"command_status":"SUCCEEDED","command_result":{"clean_steps":`), hard(r, size), strings.NewReader(`}}`))
		case 3:
			return document(r, size, "command_error", "details")
		}
		return hard(r, size)
	}
	switch r.IntN(5) {
	case 0: // a page whose next page is itself
		return strings.NewReader(fmt.Sprintf(`{"Members":[{"@odata.id":%q}],"Members@odata.nextLink":%q}`, path+"/x", path))
	case 1: // pages without end
		return strings.NewReader(fmt.Sprintf(`{"Members":[{"@odata.id":%q}],"Members@odata.nextLink":%q}`, path+"/x", fmt.Sprint(path, "?page=", r.Uint64())))
	case 2:
		return document(r, size, "Members")
	case 3:
		return io.MultiReader(strings.NewReader(`{"error":{"message":"no","@Message.ExtendedInfo":`), hard(r, size), strings.NewReader(`}}`))
	}
	return hard(r, size)
}

// wellKnown answers well enough to make a node manageable, so that more requests follow.
var wellKnown = map[string]string{
	"/redfish/v1":         `{"@odata.id":"/redfish/v1","Systems":{"@odata.id":"/redfish/v1/Systems"},"Managers":{"@odata.id":"/redfish/v1/Managers"}}`,
	"/redfish/v1/Systems": `{"Members":[{"@odata.id":"/redfish/v1/Systems/1"}]}`,
	"/redfish/v1/Systems/1": `{"@odata.id":"/redfish/v1/Systems/1","PowerState":"On",
		"Processors":{"@odata.id":"/redfish/v1/Systems/1/Processors"},"Memory":{"@odata.id":"/redfish/v1/Systems/1/Memory"},
		"EthernetInterfaces":{"@odata.id":"/redfish/v1/Systems/1/EthernetInterfaces"},"Storage":{"@odata.id":"/redfish/v1/Systems/1/Storage"},
		"Links":{"ManagedBy":[{"@odata.id":"/redfish/v1/Managers/1"}]}}`,
}
