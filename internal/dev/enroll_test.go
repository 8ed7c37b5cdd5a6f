package dev

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/config"
)

func TestEnrollingSaysWhoItIs(t *testing.T) {
	var made []map[string]any
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "ada" || password != "open sesame" {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"error":{"message":"Authorization required","code":401},"code":"unauthorized"}`))
			return
		}
		var body map[string]any
		if json.NewDecoder(r.Body).Decode(&body) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		made = append(made, body)
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(`{"uuid":"6b0a4ddc-5b7b-4a0c-8b5a-0f8f2b3f5d11"}`))
	}))
	defer api.Close()
	stack := func(environ ...string) *Stack {
		s := &Stack{o: Options{Dev: config.Dev{Nodes: 2, Conductors: 1, Drivers: []string{"fake-hardware"}, Groups: []string{"a", "b"}, Enroll: true}, Environ: environ}}
		s.info.APIURL = api.URL
		return s
	}
	require.ErrorContains(t, stack().enroll(t.Context()), "TEMPER_API_USER and TEMPER_API_PASSWORD")
	require.ErrorContains(t, stack("TEMPER_API_USER=ada", "TEMPER_API_PASSWORD=guessed").enroll(t.Context()), "Authorization required")
	require.Empty(t, made)
	require.NoError(t, stack("TEMPER_API_USER=eve", "TEMPER_API_USER=ada", "TEMPER_API_PASSWORD=open sesame").enroll(t.Context()))
	require.Equal(t, []map[string]any{
		{"name": "fake-0001", "driver": "fake-hardware", "resource_class": "baremetal", "automated_clean": true, "conductor_group": "a"},
		{"name": "fake-0002", "driver": "fake-hardware", "resource_class": "baremetal", "automated_clean": true, "conductor_group": "b"},
	}, made)
}

func TestADriverThatIsNotThereIsToldBeforeAnythingStarts(t *testing.T) {
	s := &Stack{o: Options{Dev: config.Dev{Drivers: []string{"redfish", "foo"}, Enroll: true}}}
	require.ErrorContains(t, s.start(t.Context()), `there is no driver "foo": want some of redfish, idrac, ipmi, fake-hardware`)
}
