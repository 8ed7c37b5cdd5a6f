package redfish_test

import (
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"testing"

	"go.temper.dev/temper/internal/fault"
)

// iLO 4 and Supermicro X10 have no other TLS.
func TestLegacyTLSIsRefusedWithTheSettingToChange(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]*tls.Config{
		"an old version":      {MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11},
		"an old key exchange": {MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_RSA_WITH_AES_128_CBC_SHA}},
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewUnstartedServer(http.NotFoundHandler())
			srv.TLS, srv.Config.ErrorLog = config, log.New(io.Discard, "", 0)
			srv.StartTLS()
			t.Cleanup(srv.Close)
			_, err := talk(t, newDriver(t, quick()), map[string]any{
				"redfish_address": srv.URL, "redfish_username": username, "redfish_password": password, "redfish_verify_ca": false,
			}).Power(t.Context())
			requireFault(t, err, fault.Untrusted, "TLS", "firmware", "redfish_address")
		})
	}
}
