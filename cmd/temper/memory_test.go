package main

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

func TestTheContainersMemoryIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"version 2":           {map[string]string{"memory.max": "536870912\n"}, 512 << 20},
		"version 2, no limit": {map[string]string{"memory.max": "max\n"}, 0},
		"version 1":           {map[string]string{"memory/memory.limit_in_bytes": "536870912\n"}, 512 << 20},
		"version 1, no limit": {map[string]string{"memory/memory.limit_in_bytes": "9223372036854771712\n"}, 0},
		"no control groups":   {nil, 0},
	} {
		files := fstest.MapFS{}
		for path, text := range c.files {
			files[path] = &fstest.MapFile{Data: []byte(text)}
		}
		require.Equal(t, c.want, containerMemory(files), name)
	}
}
