package client

// Change is one operation of a PATCH (RFC 6902, as far as Ironic takes it).
type Change struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"` // never null: that is a Remove
}

// Patch is what changes, in order.
type Patch []Change

// Set gives the field at path a value, whether or not it has one.
func Set(path string, value any) Change { return Change{Op: "add", Path: path, Value: value} }

// Remove takes the field at path away.
func Remove(path string) Change { return Change{Op: "remove", Path: path} }
