package ipa

import (
	"context"
	"crypto/md5" // the agent still knows it, and refuses it unless told otherwise
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/agent/failure"
	"go.temper.dev/temper/internal/sim/faults"
)

// imageTries is how often an image is downloaded before the step fails. The real agent tries
// ten times; a simulated failure does not go away by itself.
const imageTries = 3

// stallLimit is how long a download may receive no bytes
// (image_download_connection_timeout).
const stallLimit = 60 * time.Second

// errPanic ends a write when the agent dies in the middle of it.
var errPanic = errors.New("kernel panic")

var errStalled = errors.New("Timed out reading next chunk from webserver") //nolint:staticcheck // the agent's words

var hashes = map[string]func() hash.Hash{
	"md5": md5.New, "sha1": sha1.New, "sha224": sha256.New224, "sha256": sha256.New, "sha384": sha512.New384, "sha512": sha512.New,
}

// byLength maps the length of a checksum to its algorithm.
var byLength = map[int]string{32: "md5", 40: "sha1", 64: "sha256", 128: "sha512"}

func writeImage(ctx context.Context, a *Agent, c *command, p stepParams) (any, error) {
	var s struct {
		Args json.RawMessage `json:"args"`
	}
	if err := json.Unmarshal(p.Step, &s); err != nil {
		return nil, err
	}
	out, err := prepareImage(ctx, a, c, s.Args)
	if text, ok := out.(string); ok {
		out = map[string]string{"result": "prepare_image: " + text}
	}
	return out, err
}

// prepareImage is standby.prepare_image, which the step write_image calls.
func prepareImage(ctx context.Context, a *Agent, c *command, params json.RawMessage) (any, error) {
	var p struct {
		Image       agent.ImageInfo `json:"image_info"`
		ConfigDrive *string         `json:"configdrive"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, failure.BadParams("%s", err)
	}
	if err := validateImage(p.Image); err != nil {
		return nil, err
	}
	a.updateNode()
	device, err := a.rootDisk()
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	there := a.image == p.Image.ID
	a.mu.Unlock()
	if !there {
		if err := a.writeWithRetries(ctx, c, p.Image, device); err != nil {
			return nil, err
		}
	}
	if p.ConfigDrive != nil && *p.ConfigDrive != "" {
		if err := a.writeConfigDrive(ctx, *p.ConfigDrive, p.Image.NodeUUID, device); err != nil {
			return nil, err
		}
	}
	u := a.recordImage(p.Image, device)
	text := fmt.Sprintf("image (%s) written to device %s root_uuid=%s", p.Image.ID, device, u.RootUUID)
	if u.EFISystem != "" {
		text += " efi_system_partition_uuid=" + string(u.EFISystem)
	}
	return text, nil
}

// updateNode looks the node up again before the disk is written, as the real agent does for
// its root device hints. If that fails, it keeps the old answer.
func (a *Agent) updateNode() {
	a.mu.Lock()
	node := a.node
	a.mu.Unlock()
	l, _, err := a.lookup(node, lookupVersion)
	if err != nil {
		a.logf("failed to update node cache: %v", err)
		return
	}
	a.applyLookup(l)
}

func validateImage(i agent.ImageInfo) error {
	switch {
	case i.ID == "":
		return failure.BadParams("Image is missing 'id' field.")
	case len(i.URLs) == 0:
		return failure.BadParams("Image 'urls' must be a list with at least one element.")
	case i.Checksum == "" && (i.HashAlgo == "" || i.HashValue == ""):
		return failure.BadParams("Image checksum is not available, either the 'checksum' field or the 'os_hash_algo' and " +
			"'os_hash_value' fields pair must be set for image verification.")
	}
	return nil
}

// recordImage stores which image is on the disk and returns its partition uuids. For a
// whole-disk image that is the identifier of the disk.
func (a *Agent) recordImage(i agent.ImageInfo, device string) agent.PartitionUUIDs {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.image = i.ID
	a.partitions = agent.PartitionUUIDs{RootUUID: agent.Text(a.s.Disk.Identifier())}
	if i.ImageType == "partition" {
		id := func(part string) string {
			return uuid.NewSHA1(uuid.NameSpaceOID, []byte(a.s.Serial+i.ID+part)).String()
		}
		a.partitions = agent.PartitionUUIDs{
			Partitions: map[string]string{"root": device + "2", "efi system partition": device + "1"},
			RootUUID:   agent.Text(id("root")), EFISystem: agent.Text(id("efi")[:9]),
		}
	}
	return a.partitions
}

func (a *Agent) writeWithRetries(ctx context.Context, c *command, i agent.ImageInfo, device string) error {
	for try := 1; ; try++ {
		err := a.write(ctx, c, i, device)
		var r *failure.Error
		if err == nil || try == imageTries || !errors.As(err, &r) || r.Class != "ImageDownloadError" {
			return err
		}
		a.logf("image download failed, %d of %d: %v", try, imageTries, err)
		if !a.sleep(a.scaled(imageRetryPause)) {
			return err
		}
	}
}

// write downloads the image to the disk and verifies its checksum and format.
func (a *Agent) write(ctx context.Context, c *command, i agent.ImageInfo, device string) error {
	algorithm, want, err := a.checksum(ctx, i)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	watch := time.AfterFunc(stallLimit, func() { stop(errStalled) })
	defer watch.Stop()
	res, err := a.open(ctx, i)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	w, err := a.s.Disk.Create()
	if err != nil {
		return err
	}
	h := hashes[algorithm]()
	var first prefixWriter
	written := &counter{}
	if size := res.ContentLength; size > 0 {
		a.tellProgress(c, func() agent.Progress {
			n := written.n.Load()
			return agent.Progress{Fraction: min(float64(n)/float64(size), 1), Bytes: n}
		})
	}
	n, err := io.Copy(io.MultiWriter(h, w, &first, stallReset{watch}, written), a.source(c, res))
	if err != nil {
		w.Abort()
		if errors.Is(context.Cause(ctx), errStalled) {
			err = errStalled
		}
		return failure.Download("Download of image %s failed: Unable to write image to device %s. Error: %s",
			i.ID, device, pythonic(err, n, res.ContentLength))
	}
	if _, wrong := a.s.Faults.Trigger(faults.WrongChecksum, faults.Event{Commands: c.names, Agent: true}); wrong {
		_, _ = h.Write([]byte("a flipped bit")) // hashes do not fail
	}
	have := hex.EncodeToString(h.Sum(nil))
	if have != want {
		w.Abort()
		return failure.Checksum("Image failed to verify against checksum. location: %s; image ID: %s; image checksum: %s; "+
			"verification checksum: %s", device, i.ID, want, have)
	}
	if err := a.checkFormat(i, first.b); err != nil {
		w.Abort()
		return err
	}
	_, err = w.Commit()
	return err
}

// source returns the image's bytes, or half of them if the agent dies in the middle.
func (a *Agent) source(c *command, res *http.Response) io.Reader {
	if c.end == nil {
		return res.Body
	}
	return io.MultiReader(io.LimitReader(res.Body, max(1, res.ContentLength/2)), failingReader{errPanic})
}

// stallReset restarts the timer of stallLimit whenever bytes arrive.
type stallReset struct{ watch *time.Timer }

func (p stallReset) Write(b []byte) (int, error) {
	p.watch.Reset(stallLimit)
	return len(b), nil
}

// counter counts the bytes that are written to it.
type counter struct{ n atomic.Int64 }

func (c *counter) Write(b []byte) (int, error) {
	c.n.Add(int64(len(b)))
	return len(b), nil
}

type failingReader struct{ err error }

func (f failingReader) Read([]byte) (int, error) { return 0, f.err }

// pythonic returns the text that the real agent's libraries have for an error.
func pythonic(err error, n, length int64) string {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		text := fmt.Sprintf("IncompleteRead(%d bytes read, %d more expected)", n, max(0, length-n))
		return fmt.Sprintf("('Connection broken: %s', %s)", text, text)
	case strings.Contains(err.Error(), "no space left"):
		return "[Errno 28] No space left on device"
	}
	return err.Error()
}

// checksum returns the algorithm and the digest that the image must have.
func (a *Agent) checksum(ctx context.Context, i agent.ImageInfo) (algorithm, want string, err error) {
	algorithm, want = i.HashAlgo, i.HashValue
	if hashes[algorithm] == nil {
		algorithm, want = "", i.Checksum
	}
	if u, err := url.Parse(want); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
		if want, err = a.fetchChecksum(ctx, want, i); err != nil {
			return "", "", err
		}
	}
	if algorithm == "" {
		algorithm = byLength[len(want)]
	}
	a.mu.Lock()
	md5 := a.md5
	a.mu.Unlock()
	switch {
	case algorithm == "":
		return "", "", failure.Any("Unable to verify image %s with available checksums. Please make sure the specified "+
			"'os_hash_algo' (currently %s) is supported by this ramdisk, or provide a md5 checksum via the 'checksum' field", i.ID, i.HashAlgo)
	case algorithm == "md5" && !md5:
		return "", "", failure.Any("Unable to verify image %s: MD5 checksums are not permitted by the ramdisk's configuration", i.ID)
	}
	return algorithm, strings.ToLower(want), nil
}

// fetchChecksum downloads a checksum file: a single digest, or lines of digest and name.
func (a *Agent) fetchChecksum(ctx context.Context, from string, i agent.ImageInfo) (string, error) {
	res, err := a.get(ctx, from, i)
	if err != nil {
		return "", failure.Download("Download of image %s failed: %s", from, err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return "", failure.Download("Download of image %s failed: %s", from, err)
	}
	lines := strings.FieldsFunc(string(b), func(r rune) bool { return r == '\n' || r == '\r' })
	if len(lines) == 0 {
		return "", failure.Download("Download of image %s failed: Empty checksum file", from)
	}
	if len(lines) == 1 && len(strings.Fields(lines[0])) == 1 {
		return strings.TrimSpace(lines[0]), nil
	}
	name := i.URLs[0]
	if u, err := url.Parse(name); err == nil {
		name = path.Base(u.Path)
	}
	for _, l := range lines {
		if f := strings.Fields(l); len(f) == 2 && strings.TrimPrefix(f[1], "*") == name {
			return f[0], nil
		}
	}
	return "", failure.Download("Download of image %s failed: Checksum file does not contain name %s", from, name)
}

// open tries the image's URLs in turn.
func (a *Agent) open(ctx context.Context, i agent.ImageInfo) (*http.Response, error) {
	var tried []string
	for _, u := range i.URLs {
		begun := time.Now()
		res, err := a.get(ctx, u, i)
		if err == nil {
			return res, nil
		}
		tried = append(tried, fmt.Sprintf("URL: %s; time: %.3f seconds. Error: %s", u, time.Since(begun).Seconds(), err))
	}
	return nil, failure.Download("Download of image %s failed: %s", i.ID, strings.Join(tried, "\n "))
}

func (a *Agent) get(ctx context.Context, u string, i agent.ImageInfo) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u, nil)
	if err != nil {
		return nil, err
	}
	if i.Authorization != "" {
		req.Header.Set("Authorization", "Basic "+i.Authorization)
	}
	res, err := a.client().Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		defer res.Body.Close()
		b, _ := io.ReadAll(io.LimitReader(res.Body, 1<<10))                                        // the beginning of the reason is enough
		return nil, fmt.Errorf("Received status code %d from %s, expected 200. Response body: %s", //nolint:staticcheck // the agent's words
			res.StatusCode, u, b)
	}
	return res, nil
}
