package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/internal/bootimage"
	"go.temper.dev/temper/internal/config"
	"go.temper.dev/temper/internal/dial"
)

// openRamdisk opens what the API makes CDs of.
func openRamdisk(r *config.API, reach dial.Reach) (*api.Ramdisk, error) {
	dir := r.Agents.Cache
	if dir == "" {
		dir = ownCache("cds", r.Listen)
	} else {
		dir = filepath.Join(dir, "temper-cds") // the cache empties its folder
	}
	return api.OpenRamdisk(api.RamdiskFiles{
		Image: r.Ramdisk, CA: r.Agents.CA, Loaders: r.IPXE, Others: bootimage.Config{Dir: dir, Limit: int64(r.CacheGiB) << 30, Reach: reach},
	})
}

// ownCache is a folder for this process alone: only one listens at an address.
func ownCache(of, listen string) string {
	all, err := os.UserCacheDir()
	if err != nil { // it has no home
		all = os.TempDir()
	}
	name := strings.NewReplacer(":", "_", "[", "", "]", "").Replace(listen)
	if anyPort(listen) {
		name += "-" + strconv.Itoa(os.Getpid())
	}
	return filepath.Join(all, "temper", of, name)
}

// anyPort reports whether the system chooses the port: the next process listens at another one.
func anyPort(listen string) bool { return strings.HasSuffix(listen, ":0") }
