package node

// Chassis is an enclosure that several nodes stand in.
type Chassis struct {
	Record
	Description string
	Extra       map[string]any
}
