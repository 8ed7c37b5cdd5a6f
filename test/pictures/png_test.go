package pictures

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/png"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// small returns a PNG with its 256 most frequent colours only, which has about a third of the size.
func small(t *testing.T, full []byte) []byte {
	t.Helper()
	from, err := png.Decode(bytes.NewReader(full))
	require.NoError(t, err)
	count := map[color.RGBA]int{}
	size := from.Bounds()
	at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(from.At(x, y)).(color.RGBA) }
	for y := size.Min.Y; y < size.Max.Y; y++ {
		for x := size.Min.X; x < size.Max.X; x++ {
			count[at(x, y)]++
		}
	}
	var often []color.RGBA
	for c := range count {
		often = append(often, c)
	}
	slices.SortFunc(often, func(a, b color.RGBA) int { return cmp.Compare(count[b], count[a]) })
	var colours color.Palette
	for _, c := range often[:min(len(often), 256)] {
		colours = append(colours, c)
	}
	to := image.NewPaletted(size, colours)
	nearest := map[color.RGBA]uint8{}
	for y := size.Min.Y; y < size.Max.Y; y++ {
		for x := size.Min.X; x < size.Max.X; x++ {
			c := at(x, y)
			i, known := nearest[c]
			if !known {
				i = uint8(colours.Index(c))
				nearest[c] = i
			}
			to.SetColorIndex(x, y, i)
		}
	}
	var out bytes.Buffer
	require.NoError(t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, to))
	return out.Bytes()
}
