package machine

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strconv"
)

// Volume is a logical drive of the storage controller.
type Volume struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	RAID   string `json:"raid"` // one of RAIDTypes
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

// raidLevels has, for each RAID level, how many drives it needs and how many of n hold no data.
var raidLevels = map[string]struct {
	need int
	lost func(n int) int
}{
	"RAID0":  {1, func(int) int { return 0 }},
	"RAID1":  {2, func(n int) int { return n - 1 }},
	"RAID5":  {3, func(int) int { return 1 }},
	"RAID6":  {4, func(int) int { return 2 }},
	"RAID10": {4, func(n int) int { return n / 2 }},
}

// RAIDTypes are the RAID levels of which the controller makes volumes.
var RAIDTypes = slices.Sorted(maps.Keys(raidLevels))

// CreateVolume creates a volume from drives, which no other volume may use. It has that many bytes; 0 = as many as there are.
func (s *Server) CreateVolume(name, raid string, bytes int64, drives []int) (Volume, error) {
	defer s.changed()
	s.mu.Lock()
	defer s.mu.Unlock()
	level, known := raidLevels[raid]
	if !known || len(drives) < level.need {
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
	most := s.Drives[drives[0]].Bytes * int64(len(drives)-level.lost(len(drives)))
	if bytes > most {
		return Volume{}, ErrVolume
	}
	s.nextID++
	v := Volume{ID: strconv.Itoa(s.nextID), Name: cmp.Or(name, "Volume "+strconv.Itoa(s.nextID)), RAID: raid, Bytes: cmp.Or(bytes, most), Drives: drives}
	s.volumes = append(s.volumes, v)
	s.volumesMade.Add(1)
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
