package image_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/image"
)

func TestTheFormatIsReadFromTheFirstBytes(t *testing.T) {
	serve := func(first string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			http.ServeContent(w, r, "", time.Time{}, strings.NewReader(first+strings.Repeat("\x00", 1<<20)))
		}
	}
	for name, c := range map[string]struct {
		server http.HandlerFunc
		given  string
		want   string
		size   int64
		fails  string
		silent bool
	}{
		"raw":                    {server: serve("hello"), want: "raw", size: 5 + 1<<20},
		"qcow2":                  {server: serve("QFI\xfb\x00\x00\x00\x03"), want: "qcow2"},
		"a whole header":         {server: serve("QFI\xfb" + strings.Repeat("\x00", 22) + "\x04\x00\x00\x00\x00\x00"), want: "qcow2", size: 4 << 40},
		"what is given is taken": {server: serve("QFI\xfb"), given: "raw", want: "raw", size: 4 + 1<<20},
		"gpt is raw":             {server: serve("hello"), given: "gpt", want: "raw", size: 5 + 1<<20},
		"a given one that is not there: the agent is to say so": {server: http.NotFound, given: "raw", want: "raw"},
		"vmdk":             {server: serve("KDMV"), fails: "is a vmdk image"},
		"a compressed one": {server: serve("\x1f\x8b\x08"), fails: "is a gzip image"},
		"a server without ranges": {server: func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("QFI\xfb" + strings.Repeat("\x00", 1<<20)))
		}, want: "qcow2"},
		"a short file": {server: func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("QF")) }, want: "raw", size: 2},
		"a server with a password": {server: func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer f00" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			_, _ = w.Write([]byte("QFI\xfb"))
		}, want: "qcow2"},
		"it is not there: the agent is to say so": {server: http.NotFound, want: ""},
		"a server that is silent: the agent may hear more": {server: func(w http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, want: "", silent: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := ""
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked = r.Header.Get("Range")
				c.server(w, r)
			}))
			t.Cleanup(s.Close)
			info := with("image_source", s.URL+"/cloud.img?sig=secret", "image_disk_format", c.given, "image_request_authorization_secret", "Bearer f00")
			i, err := image.Parse(node, info, nil, onThisMachine)
			require.NoError(t, err)
			timeout := 30 * time.Second // longer than any answer takes on a busy machine
			if c.silent {
				timeout = 2 * time.Second // long enough for the request to arrive
			}
			r := image.NewResolver(onThisMachine, timeout)
			t.Cleanup(r.Close)
			i, err = r.Detect(context.Background(), i)
			if c.fails != "" {
				require.Equal(t, fault.Invalid, fault.KindOf(err))
				require.ErrorContains(t, err, c.fails)
				require.NotContains(t, err.Error(), "secret")
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, i.Format)
			require.Equal(t, "bytes=0-33791", asked)
			require.Equal(t, c.size, i.Size)
		})
	}
}
