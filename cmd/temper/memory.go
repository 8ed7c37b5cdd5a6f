package main

import (
	"io/fs"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"go.uber.org/zap"
)

// limitMemory sets the runtime's memory limit to nine tenths of the container's, so
// that garbage is collected more often when memory gets short. Without a limit the
// heap may grow to twice what is in use, and the container is killed although there
// would be enough memory. GOMEMLIMIT in the environment takes precedence.
func limitMemory(log *zap.Logger) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	if limit := containerMemory(os.DirFS("/sys/fs/cgroup")); limit > 0 {
		limit = limit / 10 * 9
		debug.SetMemoryLimit(limit)
		log.Info("memory limit taken from the container", zap.Int64("bytes", limit))
	}
}

// containerMemory returns the memory limit of this container's control group in
// bytes, 0 if there is none. A container sees its own group as the root.
func containerMemory(cgroup fs.FS) int64 {
	for _, name := range []string{"memory.max", "memory/memory.limit_in_bytes"} { // version 2, version 1
		text, err := fs.ReadFile(cgroup, name)
		if err != nil {
			continue
		}
		limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		if err != nil || limit > math.MaxInt64/2 { // "max" in version 2, a huge number in version 1
			return 0
		}
		return limit
	}
	return 0
}
