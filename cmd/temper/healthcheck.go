package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

func newHealthcheckCommand() *cobra.Command {
	var url string
	var timeout time.Duration
	c := &cobra.Command{
		Use:   "healthcheck",
		Short: "Check the health of a role, for containers",
		Long: `Check the health of a role. The exit code is 0 if it is healthy.

Without --url it asks the address in TEMPER_METRICS_LISTEN, which the role in the same container has in its environment, too, and
with TLS if TEMPER_TLS_CERT is set. The certificate is not verified: it need not name the container's own address.
For an API any of its addresses will do: --url http://127.0.0.1:6385/temper/v1/readyz.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if timeout <= 0 {
				return fmt.Errorf("--timeout is %s: it must be above 0, such as 5s", timeout)
			}
			if url == "" {
				var err error
				if url, err = healthURL(os.Getenv("TEMPER_METRICS_LISTEN"), os.Getenv("TEMPER_TLS_CERT") != ""); err != nil {
					return err
				}
			}
			ctx, cancel := context.WithTimeout(c.Context(), timeout)
			defer cancel()
			return healthcheck(ctx, url)
		},
	}
	c.Flags().StringVar(&url, "url", "", "address to ask, instead of the one in TEMPER_METRICS_LISTEN")
	c.Flags().DurationVar(&timeout, "timeout", 5*time.Second, "how long the answer may take")
	return c
}

// healthURL returns where a role that serves its metrics on address answers health checks.
func healthURL(address string, secure bool) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil || port == "0" {
		return "", fmt.Errorf("TEMPER_METRICS_LISTEN is %q, want host:port with a port of its own, or say --url", address)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	scheme := "http"
	if secure {
		scheme = "https"
	}
	return scheme + "://" + net.JoinHostPort(host, port) + "/healthz", nil
}

func healthcheck(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("ask %s: %w", url, err)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // nothing is sent, and only yes or no is believed
	defer transport.CloseIdleConnections()
	res, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return fmt.Errorf("not well: %w", err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<10))
	if err != nil {
		return fmt.Errorf("not well: %w", err)
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("not well: %s answers %s: %s", url, res.Status, strings.TrimSpace(string(body)))
	}
	return nil
}
