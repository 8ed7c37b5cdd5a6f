package boot

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/medium"
	"go.temper.dev/temper/internal/netboot"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/ramdisk/initrd"
)

// networkRoutes are the routes of servers that boot by network. They are open: firmware can't log in, and nothing secret is there.
func (s *Server) networkRoutes() []httpd.Route {
	const path = medium.NetworkPrefix + ":mac/:name"
	return []httpd.Route{
		httpd.Get(medium.NetworkScript, 0, s.getFirstScript).Open().For(httpd.BMCs),
		httpd.Get(path, 0, s.getNetworkFile).Open().For(httpd.BMCs), httpd.Head(path, 0, s.getNetworkFile).Open().For(httpd.BMCs),
	}
}

// getFirstScript answers GET of the script that iPXE begins with.
func (s *Server) getFirstScript(*gin.Context) (int, any, error) {
	return http.StatusOK, script(medium.FirstScript, nil), nil
}

// getNetworkFile answers GET and HEAD of a file of the server with a MAC. Only the server of an operation that boots it by network has any.
func (s *Server) getNetworkFile(c *gin.Context) (int, any, error) {
	name := c.Param("name")
	if c.Param("mac") == "loader" && s.ramdisk != nil && slices.Contains(netboot.Loaders, name) {
		return s.loader(c, name)
	}
	mac, err := net.ParseMAC(c.Param("mac"))
	if s.ramdisk == nil || err != nil {
		return httpd.NotFound(c)
	}
	m, err := s.networkMedium(c.Request.Context(), mac.String())
	switch {
	case fault.Is(err, fault.NotFound) && name == medium.ScriptName:
		httpd.Logger(c).Info("a server asked what it boots by network, and boots nothing now", zap.Stringer("mac", mac), zap.String("from", c.RemoteIP()))
		return http.StatusOK, script(medium.NothingScript, nil), nil
	case fault.Is(err, fault.NotFound):
		return httpd.NotFound(c)
	case err != nil:
		return 0, nil, err
	}
	return s.networkFile(c, m, name)
}

// networkMedium returns what the server with a MAC loads: that of its node or, if the server is not enrolled, the agent that discovers it.
func (s *Server) networkMedium(ctx context.Context, mac string) (node.NetworkMedium, error) {
	m, err := s.store.NetworkMedium(ctx, mac)
	if !fault.Is(err, fault.NotFound) || s.unknown == nil {
		return m, err
	}
	yes, asked := s.store.Discoverable(ctx, mac)
	if asked != nil {
		return m, asked
	}
	if !yes {
		return m, err
	}
	return node.NetworkMedium{Medium: *s.unknown}, nil
}

func (s *Server) networkFile(c *gin.Context, m node.NetworkMedium, name string) (int, any, error) {
	log := httpd.Logger(c)
	sent := func(n int64) { s.reads.add(m.KeyHash, n, log) }
	if m.Node == "" { // no node has a row for what it has read
		sent = nil
	}
	within := answerWithin
	if name == medium.ScriptName {
		within = scriptWithin
	}
	image, err := s.ramdisk.imageOf(c.Request.Context(), m.Medium, within)
	switch {
	case fault.Is(err, fault.Unavailable) && name == medium.ScriptName:
		return http.StatusOK, script(medium.LaterScript, nil), nil // it is no sign of a boot
	case err != nil:
		log.Warn("what a server boots by network can't be had", zap.String("node", m.Node), zap.Error(err))
		if name == medium.ScriptName {
			if m.Node == "" { // a server of somebody else must not wait for it
				return http.StatusOK, script(medium.NothingScript, nil), nil
			}
			return http.StatusOK, script(medium.FailedScript, nil), nil
		}
		return 0, nil, err
	}
	contents := medium.Contents{Node: m.Node, APIURLs: m.APIURLs, InspectionURL: m.InspectionURL, Append: m.Append, CA: s.ramdisk.ca}
	switch name {
	case medium.ScriptName:
		text, err := image.Script(contents)
		if err != nil {
			return 0, nil, fault.New(fault.Internal, "make the script of node %s: %w", m.Node, err)
		}
		log.Info("a server boots by network", zap.String("node", m.Node), zap.String("from", c.RemoteIP()))
		return http.StatusOK, script(text, sent), nil
	case medium.CAName:
		return http.StatusOK, file(bytes.NewReader(s.ramdisk.caArchive), "application/octet-stream", sent), nil
	}
	content, found, err := image.File(name)
	if err != nil {
		return 0, nil, err
	}
	if !found {
		return httpd.NotFound(c)
	}
	f := file(content, "application/octet-stream", sent)
	f.Changed = image.Changed()
	return http.StatusOK, f, nil
}

// loader is a build of iPXE, for firmware that boots by HTTP.
func (s *Server) loader(c *gin.Context, name string) (int, any, error) {
	b, err := os.ReadFile(filepath.Join(s.ramdisk.loaders, name)) // the largest has a megabyte
	if errors.Is(err, fs.ErrNotExist) {
		httpd.Logger(c).Warn("a boot loader is missing (Debian: apt-get install ipxe)", zap.String("file", name), zap.String("folder", s.ramdisk.loaders))
		return httpd.NotFound(c)
	}
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, file(bytes.NewReader(b), "application/efi", nil), nil
}

func script(text string, sent func(int64)) httpd.File {
	return file(strings.NewReader(text), "text/plain; charset=utf-8", sent)
}

func file(content io.ReadSeeker, kind string, sent func(int64)) httpd.File {
	if sent == nil {
		sent = func(int64) {}
	}
	return httpd.File{Content: content, ContentType: kind, Sent: sent}
}

// archiveOf is an initrd with files.
func archiveOf(content map[string][]byte) ([]byte, error) {
	files := initrd.Files{}
	for name, b := range content {
		files[name] = initrd.File{Content: b}
	}
	var out bytes.Buffer
	err := initrd.Write(&out, files)
	return out.Bytes(), err
}
