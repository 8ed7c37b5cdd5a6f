package node

import "bytes"

// Listed is a node as a list has it: its maps of the names of Documents are nil, and its Interfaces belong to other nodes, too. It is valid
// until the next node of the list is read.
type Listed struct {
	Node
	Documents Documents
}

// Documents are the JSON objects of a node as the database has them. A list shows most of them as they are, which
// saves decoding and encoding them.
type Documents struct {
	DriverInfo, DriverInternalInfo, Properties, Extra, InstanceInfo, NetworkData, RAIDConfig, TargetRAIDConfig []byte
}

// Clone copies the objects, so that they stay valid.
func (d Documents) Clone() Documents {
	for _, o := range []*[]byte{
		&d.DriverInfo, &d.DriverInternalInfo, &d.Properties, &d.Extra, &d.InstanceInfo, &d.NetworkData, &d.RAIDConfig, &d.TargetRAIDConfig,
	} {
		*o = bytes.Clone(*o)
	}
	return d
}
