package machine

import (
	"errors"
	"slices"
	"strconv"
)

// Volume is a logical drive of the storage controller.
type Volume struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	RAID   string `json:"raid"` // RAID0, RAID1
	Bytes  int64  `json:"bytes"`
	Drives []int  `json:"drives"` // indices of Hardware.Drives
}

// ErrVolume means that the volume can't be made from these drives.
var ErrVolume = errors.New("no such volume can be made of these drives")

// Volumes returns the volumes.
func (s *Server) Volumes() []Volume {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.volumes)
}

// CreateVolume creates a volume from whole drives, which no other volume may use.
func (s *Server) CreateVolume(name, raid string, drives []int) (Volume, error) {
	defer s.changed()
	s.mu.Lock()
	defer s.mu.Unlock()
	need := map[string]int{"RAID0": 1, "RAID1": 2}[raid]
	if need == 0 || len(drives) < need {
		return Volume{}, ErrVolume
	}
	for n, d := range drives {
		if d < 0 || d >= len(s.Drives) || slices.Contains(drives[:n], d) {
			return Volume{}, ErrVolume
		}
		for _, v := range s.volumes {
			if slices.Contains(v.Drives, d) {
				return Volume{}, ErrVolume
			}
		}
	}
	s.nextID++
	v := Volume{ID: strconv.Itoa(s.nextID), Name: name, RAID: raid, Bytes: s.Drives[drives[0]].Bytes, Drives: drives}
	if raid == "RAID0" {
		v.Bytes *= int64(len(drives))
	}
	s.volumes = append(s.volumes, v)
	return v, nil
}

// DeleteVolume deletes a volume. It returns false if there is none with that id.
func (s *Server) DeleteVolume(id string) bool {
	defer s.changed()
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.volumes)
	s.volumes = slices.DeleteFunc(s.volumes, func(v Volume) bool { return v.ID == id })
	return len(s.volumes) < n
}
