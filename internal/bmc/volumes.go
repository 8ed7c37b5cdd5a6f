package bmc

import "context"

// Volumes makes and deletes the volumes of a server's storage controllers.
type Volumes interface {
	// Controllers reads the storage controllers that can make volumes, with their drives and volumes.
	Controllers(ctx context.Context) ([]Controller, error)
	// CreateVolume asks for a volume. Each call makes another one. If the BMC goes on after its answer, task is the path of its task;
	// "" = the volume is there. If the answer is lost, the error is fault.Unreachable.
	CreateVolume(ctx context.Context, v NewVolume) (task string, err error)
	// DeleteVolume deletes the volume at that path, as Controllers returned it. If there is none, it succeeds.
	DeleteVolume(ctx context.Context, path string) (task string, err error)
}

// Controller is a storage controller that can make volumes.
type Controller struct {
	ID      string
	Drives  []PhysicalDrive
	Volumes []Volume
}

// PhysicalDrive is a drive of a storage controller.
type PhysicalDrive struct {
	ID        string
	Path      string
	Bytes     int64
	Media     string // hdd or ssd; "" = not told
	Interface string // sata, sas or nvme; "" = not told
}

// Volume is a logical disk of a storage controller.
type Volume struct {
	ID, Name string
	Path     string
	Level    string // by Ironic's names: 0, 1, 5, 6, 1+0, 5+0 or 6+0; "" = another one
	Bytes    int64
	Drives   []string // paths of its drives; empty = not told
}

// NewVolume is a volume to be made.
type NewVolume struct {
	Controller string // its ID
	Name       string // "" = the BMC makes one
	Level      string
	Bytes      int64
	Drives     []string // their paths
}

// NameCreateVolume is the name of the request for a volume.
const NameCreateVolume = "create a volume"

// NameDeleteVolume is the name of the request to delete the volume at that path.
func NameDeleteVolume(path string) string { return "delete the volume " + path }
