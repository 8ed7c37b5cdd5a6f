package node

import "time"

// FirmwareReading are the versions of a server's firmware as its BMC showed them.
type FirmwareReading struct {
	Components []FirmwareComponent `json:"components"`
}

// FirmwareComponent is one of them.
type FirmwareComponent struct {
	Component string `json:"component"`         // bios, bmc, nic:ID
	Initial   string `json:"initial"`           // as it was read for the first time
	Current   string `json:"current"`           // as it was read last
	Flashed   string `json:"flashed,omitempty"` // what an update by a step has installed last; "" = none has
}

// FirmwareUpdate is how far a step is with the update of a component.
type FirmwareUpdate struct {
	Component string     `json:"component"`
	Before    string     `json:"before,omitempty"`    // the version before it was sent
	Sent      *time.Time `json:"sent,omitempty"`      // when the BMC has accepted it; nil = not yet
	Task      string     `json:"task,omitempty"`      // path of the BMC's task; "" = it has named none
	Known     []string   `json:"known,omitempty"`     // the tasks that the BMC had before, while it has named none
	Waits     *time.Time `json:"waits,omitempty"`     // since when the task was seen to wait for a boot; nil = it was not, or it runs
	Ended     bool       `json:"ended,omitempty"`     // the task has ended well, or nobody can tell more of it
	Unseen    bool       `json:"unseen,omitempty"`    // nobody has seen the task end
	ReadFrom  *time.Time `json:"read_from,omitempty"` // from when on the version is read back
	Boots     bool       `json:"boots,omitempty"`     // the server is booted to apply it
	Booted    bool       `json:"booted,omitempty"`    // it has been
	After     string     `json:"after,omitempty"`     // the version that the update has installed
	Done      bool       `json:"done,omitempty"`
}

// Begun notes that the BMC has begun the update.
func (u *FirmwareUpdate) Begun(at time.Time) { u.Sent = &at }

// HasBooted notes that the server has booted for the update. The version is read back from then on.
func (u *FirmwareUpdate) HasBooted(at time.Time) {
	u.Booted = true
	if u.ReadFrom != nil && u.ReadFrom.Before(at) {
		u.ReadFrom = &at
	}
}

// Again makes an update that has failed one that was not begun. The version before stays, so that whoever tries it again sees whether it has
// taken effect meanwhile.
func (u *FirmwareUpdate) Again() { *u = FirmwareUpdate{Component: u.Component, Before: u.Before} }
