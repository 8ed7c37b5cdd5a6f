package redfish

import (
	"context"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/stmcginnis/gofish/schemas"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
)

type raidType struct {
	level  string
	raid   schemas.RAIDType
	volume schemas.VolumeType
}

// raidTypes has Redfish's names of RAID levels: RAIDType, and VolumeType, which is older.
var raidTypes = []raidType{
	{"0", schemas.RAID0RAIDType, schemas.NonRedundantVolumeType},
	{"1", schemas.RAID1RAIDType, schemas.MirroredVolumeType},
	{"5", schemas.RAID5RAIDType, schemas.StripedWithParityVolumeType},
	{"6", schemas.RAID6RAIDType, schemas.StripedWithParityVolumeType},
	{"1+0", schemas.RAID10RAIDType, schemas.SpannedMirrorsVolumeType},
	{"5+0", schemas.RAID50RAIDType, schemas.SpannedStripesWithParityVolumeType},
	{"6+0", schemas.RAID60RAIDType, schemas.SpannedStripesWithParityVolumeType},
}

// raidStorage is a storage controller with its drives and volumes.
type raidStorage struct {
	ID          looseString `json:"Id"`
	Drives      links
	Volumes     link
	Controllers looseList[struct {
		RAIDTypes loose[*looseList[looseString]] `json:"SupportedRAIDTypes"`
	}] `json:"StorageControllers"`

	path string
}

// makesVolumes reports whether the controller can make volumes. One that lists no RAID types at all may be able to.
func (st raidStorage) makesVolumes() bool {
	if st.Volumes == "" {
		return false
	}
	for _, c := range st.Controllers[:min(len(st.Controllers), 1)] { // as Ironic
		return c.RAIDTypes.v == nil || len(*c.RAIDTypes.v) > 0
	}
	return true
}

func (st raidStorage) id() string { return firstNonBlank(st.ID.short(), path.Base(st.path)) }

// volume is a logical disk.
type volume struct {
	ID         looseString `json:"Id"`
	Name       looseString
	RAIDType   loose[schemas.RAIDType]
	VolumeType loose[schemas.VolumeType]
	Bytes      looseNumber                   `json:"CapacityBytes"`
	Links      loose[struct{ Drives links }] `json:"Links"`
}

// isRAID reports whether the volume was made, as opposed to a drive that the BMC shows as a volume.
func (v volume) isRAID() bool {
	if v.RAIDType.v != "" && v.RAIDType.v != schemas.NoneRAIDType {
		return true
	}
	return v.VolumeType.v != "" && v.VolumeType.v != schemas.RawDeviceVolumeType
}

// level returns Ironic's name of the RAID level.
func (v volume) level() string {
	for _, t := range raidTypes {
		if t.raid == v.RAIDType.v || v.RAIDType.v == "" && t.volume == v.VolumeType.v {
			return t.level
		}
	}
	return ""
}

// Controllers reads the storage controllers.
func (s *session) Controllers(ctx context.Context) ([]bmc.Controller, error) {
	ctx, done := withBudget(ctx, callTime)
	defer done()
	all, err := s.controllers(ctx)
	return all, s.wrap("read the storage controllers", err)
}

func (s *session) controllers(ctx context.Context) (all []bmc.Controller, err error) {
	found, err := s.raidStorages(ctx)
	if err != nil {
		return nil, err
	}
	for _, st := range found {
		one := bmc.Controller{ID: st.id()}
		for _, at := range st.Drives[:min(len(st.Drives), maxMembers)] {
			var d drive
			if _, err := s.read(ctx, at, &d); err != nil {
				if !skippable(err) {
					return nil, err
				}
				continue
			}
			if !d.Status.v.absent() {
				one.Drives = append(one.Drives, d.physical(at))
			}
		}
		if one.Volumes, err = s.volumesOf(ctx, st); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// raidStorages reads the controllers that can make volumes. Unlike an inspection it fails if one can't be read: what is made or
// deleted depends on all of them.
func (s *session) raidStorages(ctx context.Context) (all []raidStorage, err error) {
	sys, err := s.recentSystem(ctx)
	if err != nil {
		return nil, err
	}
	if sys.Storage == "" {
		return nil, nil
	}
	paths, err := s.members(ctx, string(sys.Storage))
	if err != nil {
		return nil, err
	}
	for _, at := range paths {
		st := raidStorage{path: at}
		if _, err := s.read(ctx, at, &st); err != nil {
			return nil, err
		}
		if st.makesVolumes() {
			all = append(all, st)
		}
	}
	return all, nil
}

func (d drive) physical(at string) bmc.PhysicalDrive {
	out := bmc.PhysicalDrive{ID: firstNonBlank(d.ID.short(), path.Base(at)), Path: at, Bytes: int64(d.CapacityBytes), Interface: strings.ToLower(d.Protocol.short())}
	switch d.MediaType {
	case looseString(schemas.SSDMediaType):
		out.Media = "ssd"
	case looseString(schemas.HDDMediaType), looseString(schemas.SMRMediaType):
		out.Media = "hdd"
	}
	return out
}

// volumesOf reads the volumes of a controller.
func (s *session) volumesOf(ctx context.Context, st raidStorage) (all []bmc.Volume, err error) {
	paths, err := s.members(ctx, string(st.Volumes))
	if err != nil {
		return nil, err
	}
	for _, at := range paths {
		var v volume
		_, err := s.read(ctx, at, &v)
		switch {
		case gone(err): // deleted meanwhile
			continue
		case err != nil:
			return nil, err
		case v.isRAID():
			all = append(all, bmc.Volume{
				ID: firstNonBlank(v.ID.short(), path.Base(at)), Name: v.Name.short(), Path: at, Level: v.level(),
				Bytes: int64(v.Bytes), Drives: v.Links.v.Drives[:min(len(v.Links.v.Drives), maxMembers)],
			})
		}
	}
	return all, nil
}

// CreateVolume asks the controller for a volume.
func (s *session) CreateVolume(ctx context.Context, v bmc.NewVolume) (string, error) {
	ctx, done := withBudget(ctx, callTime)
	defer done()
	task, err := s.createVolume(bmc.Asking(ctx, bmc.NameCreateVolume), v)
	return task, s.wrap("create a volume", err)
}

func (s *session) createVolume(ctx context.Context, v bmc.NewVolume) (string, error) {
	i := slices.IndexFunc(raidTypes, func(t raidType) bool { return t.level == v.Level })
	if i < 0 {
		return "", fault.New(fault.Invalid, "Redfish has no RAID level %.20q", v.Level)
	}
	found, err := s.raidStorages(ctx)
	if err != nil {
		return "", err
	}
	at := slices.IndexFunc(found, func(st raidStorage) bool { return st.id() == v.Controller })
	if at < 0 {
		return "", fault.New(fault.Invalid, "the system has no storage controller %.80q that makes volumes", v.Controller)
	}
	drives := make([]any, len(v.Drives))
	for i, d := range v.Drives {
		drives[i] = map[string]any{"@odata.id": d}
	}
	body := map[string]any{
		"RAIDType": raidTypes[i].raid, "VolumeType": raidTypes[i].volume, "CapacityBytes": v.Bytes, "Encrypted": false,
		"Links": map[string]any{"Drives": drives},
	}
	if v.Name != "" {
		body["Name"] = v.Name
	}
	collection := string(found[at].Volumes)
	if err := s.addApplyTime(ctx, collection, body); err != nil {
		return "", err
	}
	return s.postVolume(ctx, collection, body)
}

// addApplyTime asks for the volume at once, where the BMC lets the client choose. A volume that is made with the next reset of the
// server would not be there when the step ends.
func (s *session) addApplyTime(ctx context.Context, collection string, body map[string]any) error {
	var c struct {
		Support loose[struct {
			Values looseList[looseString] `json:"SupportedValues"`
		}] `json:"@Redfish.OperationApplyTimeSupport"`
	}
	if _, err := s.read(ctx, collection, &c); err != nil {
		return err
	}
	values := c.Support.v.Values
	if len(values) == 0 {
		return nil
	}
	if !slices.Contains(values, looseString(schemas.ImmediateOperationApplyTime)) {
		return fault.New(fault.Refused, "the controller makes no volume at once, only as %s", joinWords(values))
	}
	body["@Redfish.OperationApplyTime"] = schemas.ImmediateOperationApplyTime
	return nil
}

// postVolume sends the request. If the BMC refuses it and names a property that not all BMCs know, it is sent without that.
func (s *session) postVolume(ctx context.Context, collection string, body map[string]any) (string, error) {
	for {
		a, err := s.changed(ctx, http.MethodPost, collection, "", body)
		if err == nil {
			return a.begunTask(), nil
		}
		if !refused(err) || !dropNamed(body, err) {
			return "", err
		}
	}
}

// optionalOfVolume are the properties of a request for a volume that may be left out: VolumeType is deprecated, and the others have
// defaults.
var optionalOfVolume = []string{"VolumeType", "Encrypted", "Name"}

// dropNamed removes from body the optional property that the refusal names. It returns false if it names none.
func dropNamed(body map[string]any, err error) bool {
	for _, name := range optionalOfVolume {
		if _, has := body[name]; has && namedBy(err, name) {
			delete(body, name)
			return true
		}
	}
	return false
}

// DeleteVolume deletes a volume.
func (s *session) DeleteVolume(ctx context.Context, path string) (string, error) {
	ctx, done := withBudget(ctx, callTime)
	defer done()
	a, err := s.changed(bmc.Asking(ctx, bmc.NameDeleteVolume(path)), http.MethodDelete, path, "", nil)
	if gone(err) {
		return "", nil
	}
	if err != nil {
		return "", s.wrap("delete the volume", err)
	}
	return a.begunTask(), nil
}
