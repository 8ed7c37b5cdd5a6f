package redfish

import (
	"bytes"
	"context"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strings"
	"time"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/jsonvalue"
)

// pushTime is how long the BMC may take to read an image and to answer.
const pushTime = 15 * time.Minute

// upload is a body that is read from a file.
type upload struct {
	file          bmc.FirmwareFile
	before, after []byte // what is sent before and after the file
	contentType   string
}

func (u *upload) size() int64 { return int64(len(u.before)) + u.file.Size() + int64(len(u.after)) }

// reader returns the body from its beginning.
func (u *upload) reader() (io.Reader, error) {
	if _, err := u.file.Seek(0, io.SeekStart); err != nil {
		return nil, fault.New(fault.Internal, "read an image of firmware: %w", err)
	}
	return io.MultiReader(bytes.NewReader(u.before), u.file, bytes.NewReader(u.after)), nil
}

// push sends the image to the BMC: in parts where it takes that (DSP0266, Multipart HTTP push updates), else alone.
func (s *session) push(ctx context.Context, service updateService, image bmc.FirmwareImage) (string, error) {
	file, err := image.Open(ctx)
	if err != nil {
		return "", bmc.NotSent(err)
	}
	defer file.Close()
	at, u := string(service.Push), &upload{file: file, contentType: "application/octet-stream"}
	if service.PushParts != "" {
		at = string(service.PushParts)
		if err := u.inParts(); err != nil {
			return "", err
		}
	}
	r := request{method: http.MethodPost, path: at, upload: u, changes: true, target: &s.target, secrets: secretsOf(image.URL)}
	s.forgetReadings()
	defer s.forgetReadings()
	a, err := s.withLogin(ctx, func(p login) (*answer, error) { return s.endpoint.send(ctx, r, p) })
	if err == nil && a.status == http.StatusAccepted {
		err = a.taskError()
	}
	if err != nil {
		return "", err
	}
	return a.taskOf(), nil
}

// inParts makes the file the second part of a body, after the parameters.
func (u *upload) inParts() error {
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	parameters, err := jsonvalue.Marshal(map[string]any{"Targets": []string{}})
	if err != nil {
		return fault.New(fault.Internal, "encode an update: %w", err)
	}
	for _, part := range []struct{ disposition, kind string }{
		{`form-data; name="UpdateParameters"`, "application/json"},
		{`form-data; name="UpdateFile"; filename="firmware.bin"`, "application/octet-stream"},
	} {
		into, err := w.CreatePart(textproto.MIMEHeader{"Content-Disposition": {part.disposition}, "Content-Type": {part.kind}})
		if err != nil {
			return fault.New(fault.Internal, "encode an update: %w", err)
		}
		if strings.Contains(part.disposition, "UpdateParameters") {
			_, _ = into.Write(parameters) // a buffer takes all
		}
	}
	u.before = bytes.Clone(body.Bytes())
	u.after = []byte("\r\n--" + w.Boundary() + "--\r\n")
	u.contentType = w.FormDataContentType()
	return nil
}

// pusher returns a client for one request that may take pushTime. Its connection is not used again.
func (e *endpoint) pusher() (*http.Client, func()) {
	transport := e.client.Transport.(*http.Transport).Clone() //nolint:forcetypeassert // newEndpoint has made it
	transport.ResponseHeaderTimeout = pushTime
	return &http.Client{Transport: transport, Timeout: pushTime, CheckRedirect: stayOnBMC}, transport.CloseIdleConnections
}
