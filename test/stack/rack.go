package stack

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Digest is the sha256 of the rack's disk image.
func (s *Stack) Digest(ctx context.Context) (string, error) {
	b, err := s.rack(ctx, http.MethodGet, "/images/disk.raw.sha256", nil)
	if err != nil {
		return "", err
	}
	f := strings.Fields(string(b))
	if len(f) == 0 {
		return "", fmt.Errorf("the rack's checksum file is empty")
	}
	return f[0], nil
}

// SetImage makes a node deploy the rack's disk image, checked by a sha256.
func (s *Stack) SetImage(ctx context.Context, uuid, digest string) error {
	return s.Call(ctx, http.MethodPatch, "/v1/nodes/"+uuid, []map[string]any{{"op": "replace", "path": "/instance_info", "value": map[string]any{
		"image_source": s.RackURL + "/images/disk.raw", "image_os_hash_algo": "sha256", "image_os_hash_value": digest, "image_disk_format": "raw",
	}}}, nil)
}

// Faults sets the faults of all servers.
func (s *Stack) Faults(ctx context.Context, faults []map[string]any) error {
	b, err := s.rack(ctx, http.MethodGet, "/servers", nil)
	if err != nil {
		return err
	}
	var servers []struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal(b, &servers); err != nil {
		return err
	}
	for _, sv := range servers {
		if _, err := s.rack(ctx, http.MethodPut, "/servers/"+sv.Name+"/faults", map[string]any{"faults": faults}); err != nil {
			return err
		}
	}
	return nil
}

func (s *Stack) rack(ctx context.Context, method, path string, body any) ([]byte, error) {
	var r io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		r = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, s.RackURL+path, r)
	if err != nil {
		return nil, err
	}
	res, err := web.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, 64<<20))
	if err == nil && res.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %s: %.300s", method, path, res.Status, b)
	}
	return b, err
}
