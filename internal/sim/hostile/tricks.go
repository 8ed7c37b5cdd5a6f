package hostile

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

const (
	large = 16 << 20 // bytes of a large but finite answer
	many  = 1 << 20  // elements of a list
)

// trick is one way to do harm. play reports whether the trick fits the request and
// was played; number is different for each request.
type trick struct {
	name string
	play func(w http.ResponseWriter, r *http.Request, number int64) bool
}

var tricks = []trick{
	{"a page that is its own next one", pageOf(func(r *http.Request, _ int64) string { return r.URL.Path })},
	{"a page that always has another next one", pageOf(func(r *http.Request, n int64) string {
		return fmt.Sprintf("%s?$skip=%d", r.URL.Path, n)
	})},
	{"a next page on another host", pageOf(func(*http.Request, int64) string { return "http://169.254.169.254/latest" })},
	{"a collection of a million", onGET(func(w io.Writer) { fill(w, `{"Members":[`, `{"@odata.id":"/redfish/v1/Systems/1"}`, `]}`) })},
	{"a collection of a million that leads nowhere", onGET(func(w io.Writer) { fill(w, `{"Members":[`, `{}`, `]}`) })},
	{"a million drives", onGET(func(w io.Writer) { fill(w, `{"Drives":[`, `{}`, `]}`) })},
	{"a million devices", onGET(func(w io.Writer) { fill(w, `{"Devices":[`, `{"CapacityBytes":1e12}`, `]}`) })},
	{"a million managers", onGET(func(w io.Writer) {
		fill(w, `{"PowerState":"On","Links":{"ManagedBy":[`, `{}`, `]}}`)
	})},
	{"a million boot devices", onGET(func(w io.Writer) {
		fill(w, `{"PowerState":"On","Boot":{"BootSourceOverrideTarget@Redfish.AllowableValues":[`, `"a"`, `]}}`)
	})},
	{"a million reset types", onGET(func(w io.Writer) {
		fill(w, `{"Actions":{"#ComputerSystem.Reset":{"target":"/x","ResetType@Redfish.AllowableValues":[`, `""`, `]}}}`)
	})},
	{"a million parameters", onGET(func(w io.Writer) { fill(w, `{"Parameters":[`, `{}`, `]}`) })},
	{"a million media types", onGET(func(w io.Writer) { fill(w, `{"MediaTypes":[`, `""`, `]}`) })},
	{"a million properties", onGET(func(w io.Writer) { fillNumbered(w) })},
	{"a million messages", withStatus(http.StatusBadRequest, func(w io.Writer) {
		fill(w, `{"error":{"@Message.ExtendedInfo":[`, `{}`, `]}}`)
	})},
	{"a million messages of a task", withStatus(http.StatusAccepted, func(w io.Writer) {
		fill(w, `{"TaskState":"Exception","Messages":[`, `{}`, `]}`)
	})},
	{"a message without end", withStatus(http.StatusInternalServerError, func(w io.Writer) {
		forever(w, `{"error":{"message":"`, strings.Repeat("oops ", 1000))
	})},
	{"an answer without end", onGET(func(w io.Writer) { forever(w, `{"Id":"`, strings.Repeat("a", 4096)) })},
	{"a list without end", onGET(func(w io.Writer) { forever(w, `{"Members":[`, strings.Repeat(`{},`, 1000)) })},
	{"lists in lists", onGET(func(w io.Writer) { forever(w, `{"Members":`, strings.Repeat("[", 4096)) })},
	{"objects in objects", onGET(func(w io.Writer) { forever(w, `{"Boot":`, strings.Repeat(`{"Boot":`, 500)) })},
	{"words of a megabyte", onGET(longStrings)},
	{"numbers beyond everything", onGET(func(w io.Writer) {
		_, _ = io.WriteString(w, `{"PowerState":"On","ProcessorSummary":{"LogicalProcessorCount":1e999,"CoreCount":-1e308},`+
			`"MemorySummary":{"TotalSystemMemoryGiB":1e300},"CapacityBytes":99999999999999999999999999,"TotalThreads":9007199254740993}`)
	})},
	{"nulls and wrong types", onGET(func(w io.Writer) {
		_, _ = io.WriteString(w, `{"Members":[null,1,"x",[],{"@odata.id":null}],"Boot":[],"Links":"x","Actions":[{}],"PowerState":{},`+
			`"Status":7,"MediaTypes":{"a":1},"Drives":"x","Devices":[null,[[]]],"Processors":[],"Systems":1,"@odata.etag":{}}`)
	})},
	{"bytes that are no JSON", onGET(func(w io.Writer) { _, _ = w.Write([]byte(strings.Repeat("\x00\xff{[\"", 1000))) })},
	{"an answer drop by drop", drip},
	{"silence", func(_ http.ResponseWriter, r *http.Request, _ int64) bool {
		_, _ = io.Copy(io.Discard, r.Body) // only then does the server notice that the client has gone
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	}},
	{"a header of 60 KiB", headers(1, 60<<10)},
	{"a thousand headers", headers(1000, 60)},
	{"a token of 60 KiB", token},
	{"an ETag that is no header", onGET(func(w io.Writer) {
		_, _ = io.WriteString(w, `{"@odata.etag":"a\r\nX-Evil: 1`+strings.Repeat("b", 1<<10)+`","PowerState":"On","MediaTypes":["CD"]}`)
	})},
	{"a redirect to itself", redirect(func(r *http.Request, _ int64) string { return r.URL.Path })},
	{"redirects without end", redirect(func(r *http.Request, n int64) string { return fmt.Sprintf("%s?%d", r.URL.Path, n) })},
	{"a redirect to another host", redirect(func(*http.Request, int64) string { return "http://169.254.169.254/latest" })},
	{"a pause of three hundred years", retryAfter("9999999999")},
	{"a pause beyond what a clock counts", retryAfter("99999999999999999999")},
	{"a pause until the year 9999", retryAfter("Fri, 31 Dec 9999 23:59:59 GMT")},
	{"a pause that is over", retryAfter("-1")},
	{"nobody is let in", withStatus(http.StatusUnauthorized, func(io.Writer) {})},
	{"a compressed answer nobody asked for", compressed},
	{"early hints without end", hints},
	{"links that lead astray", onGET(func(w io.Writer) {
		far := strings.Repeat("/..", 5000)
		_, _ = fmt.Fprintf(w, `{"Members":[{"@odata.id":"//evil.example/x"},{"@odata.id":"/redfish/v1%s"},{"@odata.id":"file:///etc/passwd"}],`+
			`"Systems":{"@odata.id":"http://user:pw@evil.example/"},"Processors":{"@odata.id":%q},"Actions":{"#ComputerSystem.Reset":{"target":"http://evil.example/"}}}`, far, far)
	})},
}

// onGET writes body in answer to every GET.
func onGET(body func(io.Writer)) func(http.ResponseWriter, *http.Request, int64) bool {
	return func(w http.ResponseWriter, r *http.Request, _ int64) bool {
		if r.Method != http.MethodGet {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		body(w)
		return true
	}
}

// withStatus writes body with a status, whatever was asked.
func withStatus(status int, body func(io.Writer)) func(http.ResponseWriter, *http.Request, int64) bool {
	return func(w http.ResponseWriter, _ *http.Request, _ int64) bool {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		body(w)
		return true
	}
}

// pageOf answers with a page of a collection whose only member has no link.
func pageOf(next func(r *http.Request, number int64) string) func(http.ResponseWriter, *http.Request, int64) bool {
	return func(w http.ResponseWriter, r *http.Request, number int64) bool {
		if r.Method != http.MethodGet {
			return false
		}
		reply(w, http.StatusOK, object{"Members": []any{object{}}, "Members@odata.nextLink": next(r, number)})
		return true
	}
}

// fill writes a list of many elements, but at most large bytes.
func fill(w io.Writer, head, element, tail string) {
	if _, err := io.WriteString(w, head+element); err != nil {
		return
	}
	n := min(many, large/(len(element)+1))
	chunk := strings.Repeat(","+element, 1000)
	for ; n > 0; n -= 1000 {
		if _, err := io.WriteString(w, chunk); err != nil {
			return
		}
	}
	_, _ = io.WriteString(w, tail)
}

func fillNumbered(w io.Writer) {
	if _, err := io.WriteString(w, `{"PowerState":"On"`); err != nil {
		return
	}
	for i := range many {
		if _, err := fmt.Fprintf(w, `,"%d":0`, i); err != nil {
			return
		}
	}
	_, _ = io.WriteString(w, "}")
}

// forever writes until the client hangs up.
func forever(w io.Writer, head, chunk string) {
	_, err := io.WriteString(w, head)
	for err == nil {
		_, err = io.WriteString(w, chunk)
	}
}

// longStrings writes long strings into every property that a client may store.
func longStrings(w io.Writer) {
	word := strings.Repeat("w", 64<<10)
	_, _ = io.WriteString(w, `{"PowerState":"On"`)
	for _, name := range []string{
		"Id", "Name", "Manufacturer", "Model", "SerialNumber", "UUID", "@odata.etag", "MediaType", "Protocol", "Image", "MACAddress",
		"ProcessorType", "Members@odata.nextLink", "LinkStatus", "ProcessorArchitecture",
	} {
		_, _ = fmt.Fprintf(w, `,%q:%q`, name, word)
	}
	_, _ = fmt.Fprintf(w, `,"CapacityBytes":1e12,"Status":{"State":%q,"Health":%q},"Boot":{"BootSourceOverrideEnabled":"Once","BootSourceOverrideTarget":%q}}`, word, word, word)
}

// drip sends an answer byte by byte until the client hangs up.
func drip(w http.ResponseWriter, r *http.Request, _ int64) bool {
	if r.Method != http.MethodGet {
		return false
	}
	out := http.NewResponseController(w)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for _, err := io.WriteString(w, `{"PowerState":"On","Id":"`); err == nil; _, err = io.WriteString(w, "x") {
		if out.Flush() != nil {
			break
		}
		select {
		case <-r.Context().Done():
			return true
		case <-tick.C:
		}
	}
	return true
}

func headers(n, size int) func(http.ResponseWriter, *http.Request, int64) bool {
	return func(w http.ResponseWriter, _ *http.Request, _ int64) bool {
		for i := range n {
			w.Header().Set(fmt.Sprintf("X-Junk-%d", i), strings.Repeat("j", size))
		}
		return false // with the ordinary answer
	}
}

// token makes a session whose token is as long as a header may be.
func token(w http.ResponseWriter, r *http.Request, _ int64) bool {
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/Sessions") {
		return false
	}
	w.Header().Set("X-Auth-Token", strings.Repeat("t", 60<<10))
	w.Header().Set("Location", sessions+"/1")
	w.WriteHeader(http.StatusCreated)
	return true
}

func redirect(to func(r *http.Request, number int64) string) func(http.ResponseWriter, *http.Request, int64) bool {
	return func(w http.ResponseWriter, r *http.Request, number int64) bool {
		w.Header().Set("Location", to(r, number))
		w.WriteHeader(http.StatusFound)
		return true
	}
}

func retryAfter(value string) func(http.ResponseWriter, *http.Request, int64) bool {
	return func(w http.ResponseWriter, _ *http.Request, _ int64) bool {
		w.Header().Set("Retry-After", value)
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	}
}

// compressed answers with gzip that is small on the wire and large when decompressed.
func compressed(w http.ResponseWriter, r *http.Request, _ int64) bool {
	if r.Method != http.MethodGet {
		return false
	}
	w.Header().Set("Content-Encoding", "gzip")
	z := gzip.NewWriter(w)
	fill(z, `{"Members":[`, `{}`, `]}`)
	_ = z.Close()
	return true
}

// hints sends informational (1xx) answers, until the client hangs up or 10,000 are sent.
func hints(w http.ResponseWriter, r *http.Request, _ int64) bool {
	w.Header().Set("Link", "</x>; rel=preload")
	for range 10_000 {
		if r.Context().Err() != nil {
			break
		}
		w.WriteHeader(http.StatusEarlyHints)
	}
	w.Header().Del("Link")
	return false
}
