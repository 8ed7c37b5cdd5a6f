// Package uki makes unified kernel images: one program for UEFI with kernel, initrd and command line in it. It is systemd's
// stub with more sections (the UAPI group's specification of unified kernel images).
package uki

import (
	"bytes"
	"debug/pe"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// Section is a part of an image that the stub reads, such as .linux.
type Section struct {
	Name    string // with its dot; at most 8 bytes
	Content []byte
}

// Fields of a PE image (the PE Format of Microsoft), as offsets.
const (
	peOffsetAt = 0x3c // of the signature "PE\0\0", from the beginning of the file

	fileHeaderSize      = 20
	numberOfSectionsAt  = 2  // from the file header
	sizeOfInitializedAt = 8  // from the optional header, as all below
	sizeOfImageAt       = 56 // in memory
	checkSumAt          = 64
	sectionHeaderSize   = 40
)

// Content that is read, of a section that is initialized (IMAGE_SCN_CNT_INITIALIZED_DATA, IMAGE_SCN_MEM_READ).
const sectionFlags = 0x40000040

// Build returns the stub with sections after its own, in their order.
func Build(stub []byte, sections []Section) ([]byte, error) {
	f, err := pe.NewFile(bytes.NewReader(stub))
	if err != nil {
		return nil, fmt.Errorf("the stub is no PE image: %w", err)
	}
	header, ok := f.OptionalHeader.(*pe.OptionalHeader64)
	if !ok {
		return nil, errors.New("the stub is not for machines of 64 bits")
	}
	if header.SectionAlignment == 0 || header.FileAlignment == 0 {
		return nil, errors.New("the stub has no alignment of sections")
	}
	fileHeader := int(binary.LittleEndian.Uint32(stub[peOffsetAt:])) + 4
	optional := fileHeader + fileHeaderSize
	table := optional + int(f.SizeOfOptionalHeader) + len(f.Sections)*sectionHeaderSize

	// The headers of the new sections go between the last header and the first section.
	room := int(header.SizeOfHeaders)
	memory := uint32(0)
	for _, s := range f.Sections {
		if s.Size > 0 {
			room = min(room, int(s.Offset))
		}
		memory = max(memory, s.VirtualAddress+max(s.VirtualSize, s.Size))
	}
	if need := table + len(sections)*sectionHeaderSize; need > room {
		return nil, fmt.Errorf("the stub has no room for %d more sections: their headers end at byte %d and must end at %d", len(sections), need, room)
	}
	out := slices.Clone(stub)
	initialized := header.SizeOfInitializedData
	for i, s := range sections {
		if len(s.Name) > 8 {
			return nil, fmt.Errorf("the name of section %s has more than 8 bytes", s.Name)
		}
		if f.Section(s.Name) != nil {
			return nil, fmt.Errorf("the stub has a section %s already", s.Name)
		}
		memory = align(memory, header.SectionAlignment)
		out = append(out, make([]byte, align(uint32(len(out)), header.FileAlignment)-uint32(len(out)))...)
		raw := align(uint32(len(s.Content)), header.FileAlignment)
		h := out[table+i*sectionHeaderSize:][:sectionHeaderSize]
		copy(h, make([]byte, sectionHeaderSize))
		copy(h, s.Name)
		binary.LittleEndian.PutUint32(h[8:], uint32(len(s.Content)))
		binary.LittleEndian.PutUint32(h[12:], memory)
		binary.LittleEndian.PutUint32(h[16:], raw)
		binary.LittleEndian.PutUint32(h[20:], uint32(len(out)))
		binary.LittleEndian.PutUint32(h[36:], sectionFlags)
		out = append(out, s.Content...)
		out = append(out, make([]byte, raw-uint32(len(s.Content)))...)
		memory += uint32(len(s.Content))
		initialized += raw
	}
	binary.LittleEndian.PutUint16(out[fileHeader+numberOfSectionsAt:], uint16(len(f.Sections)+len(sections)))
	binary.LittleEndian.PutUint32(out[optional+sizeOfInitializedAt:], initialized)
	binary.LittleEndian.PutUint32(out[optional+sizeOfImageAt:], align(memory, header.SectionAlignment))
	binary.LittleEndian.PutUint32(out[optional+checkSumAt:], 0) // UEFI does not look at it
	return out, nil
}

func align(n, to uint32) uint32 { return (n + to - 1) / to * to }
