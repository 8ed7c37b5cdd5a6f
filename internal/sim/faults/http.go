package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxHang ends a hang without a delay, so that a client without a timeout does not keep
// its connection for ever.
const maxHang = 10 * time.Minute

// Serve answers r with next, or as the fault that strikes it says. It calls expire when a
// fault deletes the session of the request.
func (p *Injector) Serve(w http.ResponseWriter, r *http.Request, e Event, next http.Handler, expire func()) {
	slow, hit := p.triggerHTTP(e)
	var late time.Duration
	for _, f := range slow {
		switch f.When {
		case After:
			late += time.Duration(f.Delay)
		case Late:
			r = outlast(r)
			pause(r.Context(), time.Duration(f.Delay))
		default:
			if !pause(r.Context(), time.Duration(f.Delay)) {
				return
			}
		}
	}
	if late == 0 && hit == nil {
		next.ServeHTTP(w, r)
		return
	}
	answer := &responseBuffer{header: http.Header{}, status: http.StatusOK}
	if hit == nil || hit.When == After || spoilsBody(hit.Kind) && safe(r.Method) {
		next.ServeHTTP(answer, r)
	}
	if !pause(r.Context(), late) {
		return
	}
	if hit == nil {
		answer.send(w)
		return
	}
	hit.spoil(w, r, answer, expire)
}

// maxBody is how much of a request is kept for a client that hangs up.
const maxBody = 1 << 20

// outlast returns the request with its body read, and a context that does not end when the
// client hangs up.
func outlast(r *http.Request) *http.Request {
	body, _ := io.ReadAll(io.LimitReader(r.Body, maxBody)) // of a client that is gone there may be less
	r = r.WithContext(context.WithoutCancel(r.Context()))
	r.Body = io.NopCloser(bytes.NewReader(body))
	return r
}

// spoilsBody reports whether faults of the type change the body of the real answer.
func spoilsBody(k Type) bool { return k == Truncated || k == Mistyped }

func safe(method string) bool { return method == http.MethodGet || method == http.MethodHead }

func (f *Fault) spoil(w http.ResponseWriter, r *http.Request, a *responseBuffer, expire func()) {
	switch f.Kind {
	case Unavailable:
		w.Header().Set("Retry-After", strconv.Itoa(max(1, int(time.Duration(f.Delay).Seconds()))))
		http.Error(w, "service temporarily unavailable", http.StatusServiceUnavailable)
	case Unauthorized:
		expire()
		w.Header().Set("WWW-Authenticate", `Basic realm="bmc"`)
		http.Error(w, "unauthorized", http.StatusUnauthorized)
	case Reset:
		reset(w)
	case Hang:
		d := time.Duration(f.Delay)
		if d == 0 {
			d = maxHang
		}
		// Go's server notices only after it has read the body that a client has hung up.
		_, _ = io.Copy(io.Discard, r.Body)
		pause(r.Context(), d)
		panic(http.ErrAbortHandler)
	case Truncated:
		a.body = truncated(a.bytes())
		a.send(w)
	case Mistyped:
		a.body = mistyped(a.bytes())
		a.send(w)
	}
}

// reset ends the connection with RST if the transport allows it: pending data is
// discarded instead of being sent first.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if c, ok := conn.(interface{ NetConn() net.Conn }); ok { // TLS
		conn = c.NetConn()
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

func truncated(body []byte) *bytes.Buffer {
	if len(body) < 2 {
		body = []byte(`{"@odata.id": "/redfish/v1"}`)
	}
	return bytes.NewBuffer(body[:len(body)/2])
}

func mistyped(body []byte) *bytes.Buffer {
	var v any
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if d.Decode(&v) != nil {
		v = map[string]any{"@odata.id": "/redfish/v1", "Id": 1.5, "PowerState": 2}
	}
	var out bytes.Buffer
	_ = json.NewEncoder(&out).Encode(mistypeValue("", v)) // what was decoded encodes
	return &out
}

// mistypeValue gives every value another type than the schema says: numbers and booleans
// become strings, strings become lists. Links stay as they are, so that a client can
// follow them to more such resources.
func mistypeValue(key string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = mistypeValue(k, e)
		}
		return v
	case []any:
		for i, e := range v {
			v[i] = mistypeValue(key, e)
		}
		return v
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	case string:
		if strings.HasPrefix(key, "@") || strings.HasPrefix(v, "/redfish/") {
			return v
		}
		return []any{v}
	}
	return v
}

// pause waits for d. It returns false if the client hung up meanwhile.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// responseBuffer is an http.ResponseWriter that holds the answer back until send.
type responseBuffer struct {
	header http.Header
	status int
	body   *bytes.Buffer
}

func (r *responseBuffer) Header() http.Header    { return r.header }
func (r *responseBuffer) WriteHeader(status int) { r.status = status }
func (r *responseBuffer) Write(b []byte) (int, error) {
	if r.body == nil {
		r.body = &bytes.Buffer{}
	}
	return r.body.Write(b)
}

func (r *responseBuffer) bytes() []byte {
	if r.body == nil {
		return nil
	}
	return r.body.Bytes()
}

func (r *responseBuffer) send(w http.ResponseWriter) {
	for k, v := range r.header {
		w.Header()[k] = v
	}
	body := r.bytes()
	if len(body) > 0 && r.status == http.StatusNoContent {
		r.status = http.StatusOK
	}
	if r.status != http.StatusNoContent {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(r.status)
	_, _ = w.Write(body)
}
