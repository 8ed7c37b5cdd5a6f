package faults_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/testenv"
)

// kind makes a fault of the rack.
func kind(name string) map[string]any { return map[string]any{"kind": name} }

// hardware are the faults of one server or its image. Each is made for a deploy that fails and for one that holds.
var hardware = map[string]struct {
	fault  []map[string]any              // of the server
	wrong  func(n *node)                 // what else is wrong; nil = nothing
	waits  string                        // the sentence while the step waits; "" = the step does not wait long
	step   string                        // that fails; "" = none
	cause  fault.Code                    // "" = it does not fail
	words  string                        // the error
	blank  func(*node) map[string]string // words that are replaced in commands; nil = none
	types  func(*node) string            // what somebody types who is asked for a password; nil = nothing
	slow   bool                          // it does not fail in time: somebody has to end it
	undoes bool                          // it is told while the undo goes on, because that takes long, too
	small  bool                          // on a disk that is too small
}{
	"the BMC is dead": {
		fault: []map[string]any{kind("hang")}, step: "deploy.prepare", cause: fault.BMCSilent, undoes: true,
		words: "no answer in time (at most 2s) (GET PATH); read power at ADDRESS",
		blank: func(n *node) map[string]string { return map[string]string{"ADDRESS": n.server.Address} },
		types: func(n *node) string { return n.server.Password },
	},
	"the password is wrong": {
		wrong: func(n *node) { n.set("driver_info/redfish_password", "wrong") }, step: "deploy.prepare", cause: fault.BMCWrongPassword,
		words: "401 Unauthorized: There is no valid session established with the implementation. (POST PATH); read power at ADDRESS",
		types: func(n *node) string { return n.server.Password },
	},
	"power is slow": {
		fault: []map[string]any{{"kind": "slow_power", "delay": "20s", "count": 1}},
		waits: "step deploy.deploy: power on asked at CLOCK; the BMC still says PoweringOn; looked at again every 1s; gives up at CLOCK",
	},
	"power requests are lost": {
		fault: []map[string]any{kind("lost_power")}, step: "deploy.deploy", cause: fault.PowerUnchanged,
		waits: "step deploy.deploy: power on asked at CLOCK; the BMC still says Off; looked at again every 1s; gives up at CLOCK",
		words: `power state is not "power on" TIME after On was sent`,
	},
	"the agent is silent": {
		fault: []map[string]any{kind("no_agent")}, step: "deploy.deploy", cause: fault.AgentNeverCalled,
		waits: "step deploy.deploy: medium deploy.iso inserted, power on at CLOCK; its agent has not called since; gives up at CLOCK",
		words: "the server was booted, and its agent never called",
	},
	"the agent hangs": { // it called, and then takes connections and answers nothing
		fault: []map[string]any{{"kind": "hang", "method": "GET", "path": "/v1/commands/"}}, step: "deploy.write_image", cause: fault.AgentSilent,
		words: "no answer in time (list commands on the agent at ADDRESS)",
	},
	"the digest is wrong": {
		wrong: func(n *node) { n.set("instance_info/image_os_hash_value", strings.Repeat("0", 64)) },
		step:  "deploy.write_image", cause: fault.ImageDigestDiffers,
		words: "Image failed to verify against checksum. location: DEVICE; image ID: disk.raw; image checksum: DIGEST; verification checksum: DIGEST (deploy.write_image failed)",
		blank: func(n *node) map[string]string { return map[string]string{"DIGEST": n.l.digest} },
	},
	"the image server is slow": {
		wrong: stalled, step: "deploy.write_image", cause: fault.ImageServerSlow,
		words: "Download of image disk.raw failed: Unable to write image to device DEVICE. Error: ('Connection broken: IncompleteRead(524288 bytes read, 524288 more expected)', " +
			"IncompleteRead(524288 bytes read, 524288 more expected)) (deploy.write_image failed)",
		blank: func(n *node) map[string]string {
			return map[string]string{"URL": n.l.RackURL + "/images/disk.raw", "DIGEST": n.l.digest}
		},
	},
	"the image server crawls": {
		wrong: crawling, cause: fault.ImageServerSlow, slow: true,
		waits: "step deploy.write_image: sent to the agent at CLOCK; the agent has done 0 %, RATE; it has no time limit as long as the agent answers; looked at again every 2s",
		blank: func(n *node) map[string]string {
			return map[string]string{"URL": n.l.RackURL + "/images/disk.raw", "DIGEST": n.l.digest}
		},
	},
	"the disk is too small": {
		small: true, step: "deploy.write_image", cause: fault.DiskTooSmall,
		words: "Download of image disk.raw failed: Unable to write image to device DEVICE. Error: [Errno 28] No space left on device (deploy.write_image failed)",
		blank: func(n *node) map[string]string {
			url, digest := library(n.t)
			return map[string]string{"URL": url, "DIGEST": digest, "SERIAL": n.secondDrive()}
		},
	},
}

func TestEachFaultIsToldAndMendedByWhatIsSuggested(t *testing.T) {
	l := newLab(t)
	small := l.smallDisks(t, 4)
	t.Run("hardware", func(t *testing.T) {
		for i, name := range slices.Sorted(maps.Keys(hardware)) {
			c, ways := hardware[name], []string{"fail", "hold"}
			if !testenv.All() {
				ways = ways[i%2:][:1] // each fault one way; which way is tried with many others
			}
			for _, onFailure := range ways {
				t.Run(name+", "+onFailure, func(t *testing.T) {
					t.Parallel()
					at := l
					if c.small {
						at = small
					}
					n := at.available(t, "")
					if c.wrong != nil {
						c.wrong(n)
					}
					n.spoil(c.fault...)
					began := time.Now()
					id := n.deploy(onFailure)
					if c.types != nil {
						n.typed = c.types(n)
					}
					switch {
					case c.slow:
						n.isLate(c.cause)
						n.tells(began, c.cause, c.waits)
						n.ends(id)
					case c.waits != "":
						n.tells(began, "", c.waits)
					}
					if c.cause != "" && !c.slow {
						words := "deploy failed, nobody holds it: " + c.words
						if c.undoes {
							words = "deploying, operation ID (deploy) failed: " + c.words + "; undoing"
						}
						if onFailure == "hold" {
							words = "step " + c.step + " failed: " + c.words + "; it waits for a decision: retry or abort"
						}
						n.tells(began, c.cause, words)
						o, err := l.Operation(t.Context(), id)
						require.NoError(t, err)
						require.Equal(t, string(c.cause), o.Cause)
						_, out := l.run(t, "temper operation show "+id)
						require.Regexp(t, `(?m)^cause +`+string(c.cause)+`$`, out)
						n.spoil()
					}
					var values map[string]string
					if c.blank != nil {
						values = c.blank(n)
					}
					n.mend(values)
				})
			}
		}
	})
	if t.Failed() {
		return
	}
	t.Run("a conductor is killed", func(t *testing.T) { conductorIsKilled(t, l) })
	t.Run("no conductor has the driver", func(t *testing.T) { noConductor(t, l) })
	t.Run("Temporal is away", func(t *testing.T) { temporalIsAway(t, l) })
	t.Run("PostgreSQL is away", func(t *testing.T) { postgreSQLIsAway(t, l) })
}

var (
	clocks  = regexp.MustCompile(`(\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d(Z| UTC)`)
	ages    = regexp.MustCompile(`\((\d+[hms])+\)`)
	uuids   = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	digests = regexp.MustCompile(`\b[0-9a-f]{64}\b`)
	places  = regexp.MustCompile(`http://[^ ;)]+|\b127\.0\.0\.1:\d+`)
	paths   = regexp.MustCompile(`\((GET|POST) /[^)]*\)`)
	devices = regexp.MustCompile(`/dev/\w+`)
	rates   = regexp.MustCompile(`\d+ B/s`)
	afters  = regexp.MustCompile(`\d+s after`)
	ids     = regexp.MustCompile(`operation \d+`)
	// Another request of Temper has tried the login before.
	untried = regexp.MustCompile(`; this login is not tried again before CLOCK, so that the BMC does not lock the account`)
)

// plain returns a sentence without what differs between two runs.
func plain(s string) string {
	s = ages.ReplaceAllString(clocks.ReplaceAllString(s, "CLOCK"), "(AGE)")
	s = places.ReplaceAllString(digests.ReplaceAllString(uuids.ReplaceAllString(s, "UUID"), "DIGEST"), "ADDRESS")
	s = devices.ReplaceAllString(paths.ReplaceAllString(s, "($1 PATH)"), "DEVICE")
	s = afters.ReplaceAllString(rates.ReplaceAllString(s, "RATE"), "TIME after")
	return ids.ReplaceAllString(untried.ReplaceAllString(s, ""), "operation ID")
}

// tells waits until the sentence about the node is this one; what is owed may follow. It must not be older than the fault.
func (n *node) tells(began time.Time, cause fault.Code, words string) {
	n.t.Helper()
	var w why
	var text string
	eventually(n.t, func() error {
		w, text = n.why()
		rest, found := strings.CutPrefix(plain(w.Sentence), words)
		if !found || rest != "" && !strings.HasPrefix(rest, "; what it left is ") {
			return fmt.Errorf("it is not\n%q but\n%q", words, plain(w.Sentence))
		}
		return nil
	})
	told := ""
	if w.Cause != nil {
		told = *w.Cause
	}
	require.Equal(n.t, string(cause), told, text)
	require.WithinRange(n.t, w.Since, began.Add(-time.Second), time.Now().Add(time.Second), "the age: %s", text)
	printed := make([]string, len(w.Help))
	for i, h := range w.Help {
		printed[i] = h.Command
	}
	require.Equal(n.t, printed, suggested(w.Text))
}

// stalled makes the node's image one whose second half does not come, until the connection breaks.
func stalled(n *node) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1048576")
		_, _ = w.Write(make([]byte, 1<<19))
		_ = http.NewResponseController(w).Flush() // who has hung up needs nothing
		panic(http.ErrAbortHandler)
	}))
	n.t.Cleanup(srv.Close)
	n.set("instance_info/image_source", srv.URL+"/disk.raw")
}

// crawling makes the node's image one that its server sends so slowly that it takes months.
func crawling(n *node) {
	const rate = 100 // bytes a second
	over := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1073741824")
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for r.Method == http.MethodGet {
			_, _ = w.Write(make([]byte, rate))
			_ = http.NewResponseController(w).Flush() // who has hung up needs nothing
			select {
			case <-tick.C:
			case <-r.Context().Done():
				return
			case <-over: // an agent that is off may hang up late
				return
			}
		}
	}))
	n.t.Cleanup(func() {
		close(over)
		srv.Close()
	})
	n.set("instance_info/image_source", srv.URL+"/disk.raw")
}

// isLate waits until the node is one of those that need a person.
func (n *node) isLate(cause fault.Code) {
	n.t.Helper()
	want := n.name + ": It takes longer than it should: " + strings.TrimSuffix(cause.Meaning(), ".")
	eventually(n.t, func() error {
		_, out := n.l.run(n.t, "temper why --nodes --reason late --cause "+string(cause))
		if !strings.Contains(out, want) {
			return fmt.Errorf("%q is not in %s", want, out)
		}
		return nil
	})
}

// ends ends an operation that would go on for hours, with the first command that is suggested.
func (n *node) ends(id string) {
	n.t.Helper()
	_, text := n.why()
	require.Contains(n.t, text, "It takes unusually long: ")
	require.Equal(n.t, "temper operation cancel "+id, suggested(text)[0])
	code, out := n.l.run(n.t, suggested(text)[0])
	require.Zero(n.t, code, out)
	n.await("deploy failed")
}

// library serves an image that fits on every disk.
func library(t *testing.T) (url, digest string) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(tiny) }))
	t.Cleanup(srv.Close)
	return srv.URL + "/tiny.raw", tinyDigest
}

func conductorIsKilled(t *testing.T, l *lab) {
	first := l.conductor(t, "pair", "pair-1")
	n := l.available(t, "pair")
	n.spoil(map[string]any{"kind": "slow_power", "delay": "20s", "count": 1})
	began := time.Now()
	id := n.deploy("fail")
	n.tells(began, "", "step deploy.deploy: power on asked at CLOCK; the BMC still says PoweringOn; looked at again every 1s; gives up at CLOCK")
	l.conductor(t, "pair", "pair-2")
	require.NoError(t, syscall.Kill(first.Pid(), syscall.SIGKILL))
	eventually(t, func() error {
		_, out := l.run(t, "temper operation show "+id)
		if !strings.Contains(strings.Join(strings.Fields(out), " "), "conductor pair-2 took step deploy.deploy over from pair-1, which gave no sign of it any more") {
			return fmt.Errorf("no hand-over is told: %s", out)
		}
		return nil
	})
	n.mend(nil)
}

func noConductor(t *testing.T, l *lab) {
	only := l.conductor(t, "alone", "alone-1")
	n := l.available(t, "alone")
	n.spoil(kind("no_agent"))
	n.deploy("fail")
	n.await("wait call-back")
	began := time.Now()
	require.NoError(t, syscall.Kill(only.Pid(), syscall.SIGKILL))
	n.tells(began, fault.NoConductor, `it waits for a conductor with driver redfish in conductor group "alone" since CLOCK (AGE); it fails at CLOCK if none comes`)
	_, out := l.run(t, "temper status")
	require.Contains(t, out, `1 with driver redfish in conductor group "alone"`)
	require.Contains(t, out, "; 1 operation waits for one, the first fails at ")
	require.Contains(t, out, "temper conductor --name alone-1 --conductor-group alone --enabled-drivers redfish")
	n.spoil()
	n.mend(map[string]string{})
}

func temporalIsAway(t *testing.T, l *lab) {
	n := l.available(t, "")
	began := time.Now()
	thaw := l.freezes(t, "temporal")
	id := n.deploy("fail")
	eventually(t, func() error {
		if w, text := n.why(); w.Cause == nil || *w.Cause != string(fault.TemporalUnavailable) || !strings.Contains(plain(text), "Temporal does not answer since CLOCK (AGE): "+
			"nodes can be read and changed, and requests are accepted; operations begin and go on when it answers. ") {
			return fmt.Errorf("%v", text)
		}
		return nil
	})
	w, text := n.why()
	require.WithinRange(t, w.Since, began.Add(-time.Second), time.Now().Add(time.Second), text)
	code, out := l.run(t, "temper status")
	require.Equal(t, 1, code, out)
	require.Regexp(t, `(?m)^temporal: Temporal does not answer, since `, out)
	thaw()
	n.mend(nil)
	l.showsOutage(t, id, "Temporal")
}

func postgreSQLIsAway(t *testing.T, l *lab) {
	n := l.available(t, "")
	n.spoil(kind("no_agent"))
	id := n.deploy("fail")
	n.await("wait call-back")
	thaw := l.freezes(t, "postgres")
	for _, command := range []string{"temper node why " + n.name, "temper status"} {
		code, out := l.run(t, command)
		require.Equal(t, 1, code, "%s: %s", command, out)
		require.Contains(t, out, "PostgreSQL does not answer, since ")
	}
	err := l.Call(t.Context(), http.MethodGet, "/temper/v1/nodes/"+n.uuid+"/why", nil, nil)
	// A request whose time is over can not tell a database that is frozen from one that is slow; the status above does.
	require.Error(t, err)
	require.Regexp(t, "database_(unavailable|timeout)", err.Error())
	thaw()
	n.spoil()
	eventually(t, func() error { return l.Call(t.Context(), http.MethodGet, "/temper/v1/readyz", nil, nil) })
	n.mend(nil)
	l.showsOutage(t, id, "PostgreSQL")
}

// showsOutage waits until the timeline of an operation has an outage.
func (l *lab) showsOutage(t *testing.T, operation, of string) {
	t.Helper()
	eventually(t, func() error {
		if _, out := l.run(t, "temper operation show "+operation); !strings.Contains(out, of+" was away for ") {
			return fmt.Errorf("no outage of %s is told: %s", of, out)
		}
		return nil
	})
}

// tiny is an image that fits on every disk, and its sha256.
var (
	tiny       = make([]byte, 1<<16)
	tinySum    = sha256.Sum256(tiny)
	tinyDigest = hex.EncodeToString(tinySum[:])
)
