package node

// VolumeConnector is what a node is known by to a storage system: an initiator's iqn, an ip, a wwpn.
type VolumeConnector struct {
	Record
	NodeUUID    string
	Type        string
	ConnectorID string
	Extra       map[string]any
}

// VolumeTarget is a volume that a node has.
type VolumeTarget struct {
	Record
	NodeUUID   string
	VolumeType string
	VolumeID   string
	BootIndex  int            // 0 = it boots from this one
	Properties map[string]any // of the connection, with the secrets masked
	Extra      map[string]any
	Hidden     Hidden // the secrets of Properties, by JSON pointer
}

// Hidden are the secrets of a record. They are in no answer and no log.
type Hidden struct {
	Clear map[string]any
	// Unreadable says why the secrets do not open; Clear is nil then. The record can be shown and deleted all the same. nil = they do.
	Unreadable error
	// As the database has them; only the store reads it.
	Sealed SealedText
}

// SealedText is a value that the store has sealed.
type SealedText struct {
	KeyID   int64
	Version int16
	Text    []byte // empty = there is none
}
