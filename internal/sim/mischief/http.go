package mischief

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

// hangLimit ends a hang of no stated length, so that a client without a
// deadline does not keep a connection for ever.
const hangLimit = 10 * time.Minute

// Serve answers r by next, or as the fault that strikes it. expire is called
// where a session is to be forgotten.
func (p *Plan) Serve(w http.ResponseWriter, r *http.Request, e Event, next http.Handler, expire func()) {
	slow, hit := p.takeHTTP(e)
	var late time.Duration
	for _, f := range slow {
		if f.When == After {
			late += time.Duration(f.Delay)
		} else if !pause(r.Context(), time.Duration(f.Delay)) {
			return
		}
	}
	if late == 0 && hit == nil {
		next.ServeHTTP(w, r)
		return
	}
	answer := &recorder{header: http.Header{}, status: http.StatusOK}
	if hit == nil || hit.When == After || shapes(hit.Kind) && safe(r.Method) {
		next.ServeHTTP(answer, r)
	}
	if !pause(r.Context(), late) {
		return
	}
	if hit == nil {
		answer.send(w)
		return
	}
	hit.answer(w, r, answer, expire)
}

// shapes are the kinds that need an answer to spoil.
func shapes(k Kind) bool { return k == Truncated || k == Mistyped }

func safe(method string) bool { return method == http.MethodGet || method == http.MethodHead }

func (f *Fault) answer(w http.ResponseWriter, r *http.Request, a *recorder, expire func()) {
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
			d = hangLimit
		}
		// The server notices that a client has gone only once its body is read.
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

// reset ends the connection with RST where the transport allows it: pending
// data is thrown away instead of being sent before the end.
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
	_ = json.NewEncoder(&out).Encode(twist("", v)) // what was decoded encodes
	return &out
}

// twist gives every value another type than the schema says: numbers and
// booleans become strings, strings become lists. Links stay, so that a client
// finds its way to more of it.
func twist(key string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = twist(k, e)
		}
		return v
	case []any:
		for i, e := range v {
			v[i] = twist(key, e)
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

// pause waits, and is false where the client has gone away meanwhile.
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

// recorder keeps an answer back.
type recorder struct {
	header http.Header
	status int
	body   *bytes.Buffer
}

func (r *recorder) Header() http.Header    { return r.header }
func (r *recorder) WriteHeader(status int) { r.status = status }
func (r *recorder) Write(b []byte) (int, error) {
	if r.body == nil {
		r.body = &bytes.Buffer{}
	}
	return r.body.Write(b)
}

func (r *recorder) bytes() []byte {
	if r.body == nil {
		return nil
	}
	return r.body.Bytes()
}

func (r *recorder) send(w http.ResponseWriter) {
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
