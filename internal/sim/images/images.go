// Package images serves files for demonstrations: a deploy ISO and a disk image with its
// checksums, generated from a seed. The ISO boots nothing; a simulated virtual CD drive can
// only read it.
package images

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Names of the files.
const (
	ISO  = "deploy.iso"
	Disk = "disk.raw"
	Sums = "SHA256SUMS"
)

// made is the files' modification time. They never change.
var made = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Server serves the files. The zero value has no files.
type Server struct {
	files   map[string][]byte
	digests map[string]string // of the files, in hex
}

// New generates the files. diskBytes is the size of the disk image.
func New(seed int64, diskBytes int) *Server {
	s := &Server{files: map[string][]byte{}, digests: map[string]string{}}
	s.add(ISO, iso())
	s.add(Disk, disk(seed, diskBytes))
	var sums strings.Builder
	for _, name := range []string{ISO, Disk} {
		line := s.SHA256(name) + "  " + name + "\n"
		s.add(name+".sha256", []byte(line))
		sums.WriteString(line)
	}
	s.add(Sums, []byte(sums.String()))
	return s
}

func (s *Server) add(name string, content []byte) {
	sum := sha256.Sum256(content)
	s.files[name], s.digests[name] = content, hex.EncodeToString(sum[:])
}

// SHA256 returns a file's digest in hex, "" if there is no such file.
func (s *Server) SHA256(name string) string { return s.digests[name] }

// ServeHTTP answers GET and HEAD, also of ranges. The path is a file's name; an empty path
// returns the list of names.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.Trim(r.URL.Path, "/")
	if name == "" {
		var names []string
		for n := range s.files {
			names = append(names, n)
		}
		slices.Sort(names)
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = fmt.Fprintln(w, strings.Join(names, "\n"))
		return
	}
	b, ok := s.files[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	kind := "application/octet-stream"
	if strings.HasPrefix(name, Sums) || strings.HasSuffix(name, ".sha256") {
		kind = "text/plain; charset=utf-8"
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("ETag", `"`+s.SHA256(name)[:16]+`"`)
	http.ServeContent(w, r, name, made, bytes.NewReader(b))
}

// disk returns pseudo-random bytes after a master boot record with one partition.
func disk(seed int64, n int) []byte {
	b := make([]byte, max(n, 512))
	var key [32]byte
	copy(key[:], fmt.Sprintf("disk image of rack %d", seed))
	_, _ = rand.NewChaCha8(key).Read(b) // never fails
	clear(b[446:510])
	b[446], b[450], b[454] = 0x80, 0x83, 1 // active, Linux, from sector 1
	sectors := uint32(len(b)/512 - 1)      // bounded by the settings
	b[458], b[459], b[460], b[461] = byte(sectors), byte(sectors>>8), byte(sectors>>16), byte(sectors>>24)
	b[510], b[511] = 0x55, 0xaa
	return b
}

// iso returns an empty ISO 9660 volume: a primary volume descriptor and a terminator after
// the system area (ECMA-119, 8.4).
func iso() []byte {
	const sector = 2048
	b := make([]byte, 32*sector)
	pvd, end := b[16*sector:], b[17*sector:]
	copy(pvd, "\x01CD001\x01")
	copy(pvd[40:], fmt.Sprintf("%-32s", "TEMPER_DEPLOY"))
	copy(end, "\xffCD001\x01")
	return b
}
