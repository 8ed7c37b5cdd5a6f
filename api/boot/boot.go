// Package boot serves what servers boot their agent from: a CD for each boot, made while it is read, or the files of a boot by network.
package boot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"

	"go.temper.dev/temper/api/httpd"
	"go.temper.dev/temper/internal/bootimage"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/medium"
	"go.temper.dev/temper/internal/node"
)

// Store has the media of the boots that are under way.
type Store interface {
	// Medium returns the medium whose key has this hash; fault.NotFound where there is none, or its operation is over.
	Medium(ctx context.Context, keyHash []byte) (node.ServedMedium, error)
	// NetworkMedium returns what the server with a MAC loads; fault.NotFound if none boots by network now.
	NetworkMedium(ctx context.Context, mac string) (node.NetworkMedium, error)
	// Discoverable reports whether the server with a MAC is neither enrolled nor discovered yet.
	Discoverable(ctx context.Context, mac string) (bool, error)
	// MediumRead adds to what was read of it.
	MediumRead(ctx context.Context, keyHash []byte, bytes int64) error
}

// Files says from which files media are made.
type Files struct {
	Image   string           // Temper's own ramdisk
	CA      string           // the authorities that agents trust, PEM; "" = none
	Loaders string           // folder of iPXE, for firmware that loads it by HTTP
	Others  bootimage.Config // the CDs of other kernels and ramdisks, which have the boot loaders of Image
}

// Ramdisk is that from which media are made.
type Ramdisk struct {
	image     *medium.Image
	ca        []byte
	caArchive []byte
	others    *bootimage.Cache
	loaders   string
}

// Open opens the files.
func Open(f Files) (*Ramdisk, error) {
	var ca []byte
	if f.CA != "" {
		var err error
		if ca, err = os.ReadFile(f.CA); err != nil {
			return nil, fmt.Errorf("read the authorities for agents: %w", err)
		}
	}
	if err := (medium.Contents{CA: ca}).Check(); err != nil {
		return nil, err
	}
	i, err := medium.Open(f.Image)
	if err != nil {
		return nil, err
	}
	archive, err := archiveOf(medium.CAFiles(ca))
	if err != nil {
		return nil, errors.Join(err, i.Close())
	}
	f.Others.Loaders = f.Image
	others, err := bootimage.Open(f.Others)
	if err != nil {
		return nil, errors.Join(err, i.Close())
	}
	return &Ramdisk{image: i, ca: ca, caArchive: archive, others: others, loaders: f.Loaders}, nil
}

// Close closes the files, and removes those that were made.
func (r *Ramdisk) Close() error { return errors.Join(r.image.Close(), r.others.Close()) }

const (
	// answerWithin is how long a request waits for a CD that is being made: less than BMCs wait for their first answer.
	answerWithin = 5 * time.Second
	// scriptWithin is the same for a script of iPXE, which can ask again.
	scriptWithin = time.Second
)

// imageOf returns the image of a medium. If it is not made within so long, the error is fault.Unavailable.
func (r *Ramdisk) imageOf(ctx context.Context, m node.Medium, within time.Duration) (*medium.Image, error) {
	if m.Kernel == "" {
		return r.image, nil
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return r.others.Image(ctx, m.Kernel, m.Initrd)
}

// Server serves media. It is safe for concurrent use.
type Server struct {
	store   Store
	ramdisk *Ramdisk     // nil = it has none
	unknown *node.Medium // what servers boot by network that are not enrolled; nil = nothing
	reads   reads
}

// New makes a Server. ramdisk may be nil: then there are no media. unknown is what servers boot by network that are not enrolled; nil =
// nothing.
func New(s Store, ramdisk *Ramdisk, unknown *node.Medium) *Server {
	return &Server{store: s, ramdisk: ramdisk, unknown: unknown, reads: reads{store: s, pending: map[string]*read{}}}
}

// Routes are the routes of the media. They are open: who has a medium's key may read it, and BMCs can't log in.
func (s *Server) Routes() []httpd.Route {
	const path = medium.PathPrefix + ":secret/:name" // the log leaves out a parameter of this name
	return append(s.networkRoutes(),
		httpd.Get(path, 0, s.getMedium).Open().For(httpd.BMCs), httpd.Head(path, 0, s.getMedium).Open().For(httpd.BMCs),
	)
}

// getMedium answers GET and HEAD of a medium. An answer does not tell whether there was such a medium: only who has the key learns
// anything.
func (s *Server) getMedium(c *gin.Context) (int, any, error) {
	key := c.Param("secret")
	if s.ramdisk == nil || !medium.IsKey(key) {
		return httpd.NotFound(c)
	}
	hash := medium.Hash(key)
	m, err := s.store.Medium(c.Request.Context(), hash)
	switch {
	case fault.Is(err, fault.NotFound):
		httpd.Logger(c).Info("medium refused", zap.String("from", c.RemoteIP()), zap.Error(err))
		return httpd.NotFound(c)
	case err != nil:
		return 0, nil, err
	}
	network, err := json.Marshal(m.NetworkData)
	if err != nil {
		return 0, nil, err
	}
	if len(m.NetworkData) == 0 {
		network = nil
	}
	image, err := s.ramdisk.imageOf(c.Request.Context(), m.Medium, answerWithin)
	if err != nil {
		return 0, nil, err
	}
	content, err := image.For(medium.Contents{
		Node: m.Node, Token: m.Token, APIURLs: m.APIURLs, InspectionURL: m.InspectionURL, Append: m.Append, Network: network, CA: s.ramdisk.ca,
		OnCommandLine: m.Kernel != "",
	})
	if err != nil {
		return 0, nil, fault.New(fault.Internal, "make the medium of node %s: %w", m.Node, err)
	}
	if c.Request.Method == http.MethodGet {
		httpd.Logger(c).Debug("medium read", zap.String("node", m.Node), zap.String("from", c.RemoteIP()), zap.String("range", c.GetHeader("Range")))
	}
	return http.StatusOK, httpd.File{
		Content: content, ContentType: "application/x-iso9660-image", ETag: `"` + medium.Name(key) + `"`, Changed: image.Changed(),
		Sent: func(n int64) { s.reads.add(hash, n, httpd.Logger(c)) },
	}, nil
}

// recordEvery is the pause between two records of what was read of a medium: some BMCs read it in thousands of small pieces.
const recordEvery = time.Second

// recordLimit is how long a record may take. The next read is recorded anyway.
const recordLimit = 10 * time.Second

// reads counts what is read of media, and records it now and then.
type reads struct {
	store   Store
	mu      sync.Mutex
	pending map[string]*read // by hash
}

// read is what was read of a medium and not recorded yet.
type read struct{ bytes int64 }

func (r *reads) add(hash []byte, bytes int64, log *zap.Logger) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.pending[string(hash)]; p != nil {
		p.bytes += bytes
		return
	}
	r.pending[string(hash)] = &read{bytes}
	time.AfterFunc(recordEvery, func() { r.record(hash, log) })
}

func (r *reads) record(hash []byte, log *zap.Logger) {
	r.mu.Lock()
	p := r.pending[string(hash)]
	delete(r.pending, string(hash))
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), recordLimit)
	defer cancel()
	if err := r.store.MediumRead(ctx, hash, p.bytes); err != nil {
		log.Warn("what was read of a medium was not recorded", zap.Error(err))
	}
}
