package imagecache

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/qcow2/qcow2test"
)

// With Raw the disk in a qcow2 image is served, with holes where it has zeros, also by the next process.
func TestADiskIsTakenOutOfAnImage(t *testing.T) {
	disk := make([]byte, 40<<20)
	copy(disk, bytesOf(3<<20))
	copy(disk[30<<20:], bytesOf(1<<20))
	for name, compressed := range map[string]bool{"compressed": true, "not compressed": false} {
		t.Run(name, func(t *testing.T) {
			content, dir := qcow2test.Image(t, 3, disk, compressed), t.TempDir()
			o := serves(t, file(content))
			i := imageAt(t, o.URL+"/disk", content, "image_disk_format", "qcow2")
			c := opened(t, Config{Dir: dir, Raw: true, Limit: 16 << 20})
			got, err := read(t, c, i)
			require.NoError(t, err)
			require.True(t, bytes.Equal(disk, got))
			require.LessOrEqual(t, c.size(), int64(5<<20))
			got, err = read(t, opened(t, Config{Dir: dir, Raw: true}), i)
			require.NoError(t, err)
			require.True(t, bytes.Equal(disk, got))
			require.EqualValues(t, 1, o.asked.Load())

			got, err = read(t, opened(t, Config{}), i)
			require.NoError(t, err)
			require.Equal(t, content, got, "without Raw it stays as it is")
		})
	}
}

func TestAnImageWhoseDiskCanNotBeTakenOut(t *testing.T) {
	backed := qcow2test.Image(t, 3, bytesOf(1<<20), false)
	backed[15] = 1
	cut := qcow2test.Image(t, 3, bytesOf(1<<20), false)
	for name, one := range map[string]struct {
		content       []byte
		format, words string
	}{
		"a backing file": {backed, "", "it has a backing file"},
		"cut off":        {cut[:1<<18], "", "can't be read"},
		"no qcow2":       {bytesOf(1024), "qcow2", "says that it is a qcow2 image, and it is none"},
	} {
		t.Run(name, func(t *testing.T) {
			o := serves(t, file(one.content))
			c := opened(t, Config{Raw: true})
			_, err := read(t, c, imageAt(t, o.URL+"/disk", one.content, "image_disk_format", one.format))
			require.ErrorContains(t, err, one.words)
			require.Equal(t, fault.ImageFormatWrong, fault.CodeOf(err))
			left, err := os.ReadDir(c.Dir)
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "x"+rawSuffix), nil, 0o600))
	opened(t, Config{Dir: dir})
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left, "what a process left half written")
}
