package uki_test

import (
	"bytes"
	"debug/pe"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/ramdisk/uki"
)

// stub is a program for UEFI with one section, .text, and room for the headers of room more.
func stub(t *testing.T, room int) []byte {
	t.Helper()
	const headers = 0x40 + 4 + 20 + 240 + 40
	first := headers + room*40
	var b bytes.Buffer
	b.Write(append([]byte("MZ"), make([]byte, 0x3a)...))
	for _, part := range []any{
		uint32(0x40),
		[4]byte{'P', 'E'},
		pe.FileHeader{Machine: pe.IMAGE_FILE_MACHINE_AMD64, NumberOfSections: 1, SizeOfOptionalHeader: 240},
		pe.OptionalHeader64{
			Magic: 0x20b, SectionAlignment: 0x1000, FileAlignment: 0x200, SizeOfHeaders: uint32(first), SizeOfImage: 0x2000,
			SizeOfInitializedData: 0x200, CheckSum: 7, NumberOfRvaAndSizes: 16,
		},
		pe.SectionHeader32{Name: [8]uint8{'.', 't', 'e', 'x', 't'}, VirtualSize: 0x123, VirtualAddress: 0x1000, SizeOfRawData: 0x200, PointerToRawData: uint32(first)},
	} {
		require.NoError(t, binary.Write(&b, binary.LittleEndian, part))
	}
	require.Equal(t, headers, b.Len())
	b.Write(make([]byte, room*40))
	b.Write(bytes.Repeat([]byte{0xcc}, 0x200))
	return b.Bytes()
}

func TestTheStubHasItsSections(t *testing.T) {
	sections := []uki.Section{
		{Name: ".cmdline", Content: []byte("console=ttyS0\x00")},
		{Name: ".linux", Content: bytes.Repeat([]byte("kernel"), 5000)},
		{Name: ".initrd", Content: bytes.Repeat([]byte("initrd"), 7001)},
	}
	image, err := uki.Build(stub(t, len(sections)), sections)
	require.NoError(t, err)
	f, err := pe.NewFile(bytes.NewReader(image))
	require.NoError(t, err)
	require.Len(t, f.Sections, 1+len(sections))
	text, err := f.Section(".text").Data()
	require.NoError(t, err)
	require.Equal(t, bytes.Repeat([]byte{0xcc}, 0x200), text)

	file, memory := f.Sections[0].Offset+f.Sections[0].Size, f.Sections[0].VirtualAddress+f.Sections[0].VirtualSize
	initialized := f.Sections[0].Size
	for i, want := range sections {
		s := f.Sections[1+i]
		require.Equal(t, want.Name, s.Name)
		data, err := s.Data()
		require.NoError(t, err)
		require.Equal(t, want.Content, data[:s.VirtualSize])
		require.Zero(t, s.VirtualAddress%0x1000)
		require.Zero(t, s.Size%0x200)
		require.GreaterOrEqual(t, s.VirtualAddress, memory, "%s lies in memory where %s is", s.Name, f.Sections[i].Name)
		require.GreaterOrEqual(t, s.Offset, file, "%s lies in the file where %s is", s.Name, f.Sections[i].Name)
		file, memory, initialized = s.Offset+s.Size, s.VirtualAddress+s.VirtualSize, initialized+s.Size
	}
	header := f.OptionalHeader.(*pe.OptionalHeader64)
	require.Len(t, image, int(file))
	require.Equal(t, (memory+0xfff)/0x1000*0x1000, header.SizeOfImage)
	require.Equal(t, initialized, header.SizeOfInitializedData)
	require.Zero(t, header.CheckSum, "that of the stub alone is wrong now")
}

func TestWhatIsNoImage(t *testing.T) {
	one := []uki.Section{{Name: ".linux"}}
	for want, build := range map[string]struct {
		stub     []byte
		sections []uki.Section
	}{
		"the stub is no PE image":                  {[]byte("no program"), one},
		"the stub has no room for 1 more sections": {stub(t, 0), one},
		"the name of section .too-long":            {stub(t, 1), []uki.Section{{Name: ".too-long"}}},
		"the stub has a section .text already":     {stub(t, 1), []uki.Section{{Name: ".text"}}},
	} {
		_, err := uki.Build(build.stub, build.sections)
		require.ErrorContains(t, err, want)
	}
}
