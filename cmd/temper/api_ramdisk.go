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
	dir := r.Cache
	if dir == "" {
		all, err := os.UserCacheDir()
		if err != nil { // it has no home
			all = os.TempDir()
		}
		name := strings.NewReplacer(":", "_", "[", "", "]", "").Replace(r.Listen) // one process listens there
		if strings.HasSuffix(r.Listen, ":0") {
			name += "-" + strconv.Itoa(os.Getpid())
		}
		dir = filepath.Join(all, "temper", "cds", name)
	}
	return api.OpenRamdisk(api.RamdiskFiles{
		Image: r.Ramdisk, CA: r.Agents.CA, Loaders: r.IPXE, Others: bootimage.Config{Dir: dir, Limit: int64(r.CacheGiB) << 30, Reach: reach},
	})
}
