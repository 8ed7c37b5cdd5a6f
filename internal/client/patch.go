package client

// Change is one operation of a PATCH (RFC 6902, as far as Ironic takes it).
type Change struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"` // never nil; Remove removes a field
}

// Patch is a list of changes.
type Patch []Change

// Set sets the field at path, whether it has a value or not.
func Set(path string, value any) Change { return Change{Op: "add", Path: path, Value: value} }

// Remove removes the field at path.
func Remove(path string) Change { return Change{Op: "remove", Path: path} }
