package node

// Stranding is what becomes of a node that is in a transient state while no
// operation holds it: its row was written by hand, or came from elsewhere.
type Stranding struct {
	From, To State
	Target   State  // target_provision_state after it
	Owed     []Undo // what may be half done; each is harmless where it is not
	// ClearInstance is that of Moved.
	ClearInstance bool
}

// Strandings are all, from the table of states.
func Strandings() []Stranding {
	var out []Stranding
	for _, s := range States() {
		if !Transient(s) {
			continue
		}
		to := FailedState(s)
		r := Stranding{From: s, To: to, Target: TargetOf(to), ClearInstance: s == Deleting}
		if s != Verifying && s != Adopting { // the others may have booted a ramdisk
			r.Owed = []Undo{UndoEjectMedia, UndoClearBoot}
		}
		out = append(out, r)
	}
	return out
}
