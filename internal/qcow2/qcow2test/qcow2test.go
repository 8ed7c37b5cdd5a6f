// Package qcow2test makes images for tests.
package qcow2test

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
)

// Image returns a qcow2 image as QEMU lays one out (docs/interop/qcow2.txt): header, L1 table, one L2 table, then the clusters of 64
// KiB in reverse order, so that nobody can read it from front to back. Clusters of zeros are marked as such in version 3, and missing
// in version 2.
func Image(t testing.TB, version uint32, disk []byte, compressed bool) []byte {
	t.Helper()
	const bits, cluster = 16, 1 << 16
	be := binary.BigEndian
	out := make([]byte, 3*cluster)
	copy(out, "QFI\xfb")
	be.PutUint32(out[4:], version)
	be.PutUint32(out[20:], bits)
	be.PutUint64(out[24:], uint64(len(disk)))
	be.PutUint32(out[36:], 1)
	be.PutUint64(out[40:], cluster)
	if version == 3 {
		be.PutUint32(out[96:], 4)
		be.PutUint32(out[100:], 104)
	}
	be.PutUint64(out[cluster:], 2*cluster|1<<63)
	n := (len(disk) + cluster - 1) / cluster
	for i := n - 1; i >= 0; i-- {
		data := make([]byte, cluster)
		copy(data, disk[i*cluster:])
		entry := uint64(0)
		switch {
		case bytes.Equal(data, make([]byte, cluster)):
			if version == 3 {
				entry = 1
			}
		case compressed:
			var z bytes.Buffer
			w, err := flate.NewWriter(&z, flate.BestSpeed)
			require.NoError(t, err)
			_, err = w.Write(data)
			require.NoError(t, err)
			require.NoError(t, w.Close())
			sectors := uint64((len(out)%512+z.Len()+511)/512 - 1)
			entry = 1<<62 | sectors<<(62-(bits-8)) | uint64(len(out))
			out = append(out, z.Bytes()...)
		default:
			out = append(out, make([]byte, (cluster-len(out)%cluster)%cluster)...)
			entry = uint64(len(out)) | 1<<63
			out = append(out, data...)
		}
		be.PutUint64(out[2*cluster+8*i:], entry)
	}
	return out
}
