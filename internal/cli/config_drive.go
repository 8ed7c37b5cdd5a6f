package cli

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"go.temper.dev/temper/internal/cli/input"
	"go.temper.dev/temper/internal/configdrive"
	"go.temper.dev/temper/internal/jsonvalue"
)

// readConfigDrive returns the value of --config-drive in a form that the API takes: a URL, an object of parts that the image is
// built from (given as a folder or a JSON file), or an image in base64. It checks the value before the first request.
// For "" it returns nil.
func readConfigDrive(s string) (any, error) {
	if s == "" {
		return nil, nil
	}
	given, err := loadConfigDrive(s)
	if err == nil {
		_, err = configdrive.Parse(given)
	}
	if err != nil {
		return nil, fmt.Errorf("--config-drive %s: %w", s, err)
	}
	return given, nil
}

func loadConfigDrive(s string) (any, error) {
	if strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://") {
		return s, nil
	}
	if info, err := os.Stat(s); err == nil && info.IsDir() {
		return readConfigDriveDir(s)
	}
	raw, err := input.File(s, configdrive.MaxSize)
	if err != nil {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(raw, []byte{0x1f, 0x8b}):
		return base64.StdEncoding.EncodeToString(raw), nil
	case isISO(raw):
		return gzipBase64(raw)
	case bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")):
		var parts map[string]any
		if err := jsonvalue.Unmarshal(raw, &parts); err != nil {
			return nil, fmt.Errorf("read its JSON: %w", err)
		}
		return parts, nil
	}
	return strings.TrimSpace(string(raw)), nil
}

// isISO reports whether raw has the identifier of ISO 9660 in its first volume descriptor (ECMA-119, 8.1.2).
func isISO(raw []byte) bool {
	const at, mark = 0x8001, "CD001"
	return len(raw) > at+len(mark) && string(raw[at:at+len(mark)]) == mark
}

// gzipBase64 returns an image in the form that Ironic takes.
func gzipBase64(image []byte) (string, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(image); err != nil {
		return "", err
	}
	if err := z.Close(); err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(b.Bytes()), nil
}

// configDriveFiles are the files in the folder of a config drive, and the part that each becomes. The names are OpenStack's.
var configDriveFiles = []struct{ file, part string }{
	{"meta_data.json", "meta_data"},
	{"network_data.json", "network_data"},
	{"vendor_data.json", "vendor_data"},
	{"vendor_data2.json", "vendor_data"},
	{"user_data", "user_data"},
}

// readConfigDriveDir reads a folder with these files, or with a folder openstack/latest that has them.
func readConfigDriveDir(dir string) (map[string]any, error) {
	if info, err := os.Stat(filepath.Join(dir, "openstack", "latest")); err == nil && info.IsDir() {
		dir = filepath.Join(dir, "openstack", "latest")
	}
	parts := map[string]any{}
	for _, one := range configDriveFiles {
		raw, err := input.File(filepath.Join(dir, one.file), configdrive.MaxSize)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, err
		case one.part == "user_data":
			if !utf8.Valid(raw) {
				return nil, errors.New("user_data is not text")
			}
			parts[one.part] = string(raw)
			continue
		}
		var object map[string]any
		if err := jsonvalue.Unmarshal(raw, &object); err != nil {
			return nil, fmt.Errorf("%s is no JSON object", one.file)
		}
		parts[one.part] = object
	}
	if len(parts) == 0 {
		var names []string
		for _, one := range configDriveFiles {
			names = append(names, one.file)
		}
		return nil, fmt.Errorf("the folder has none of %s", strings.Join(names, ", "))
	}
	return parts, nil
}
