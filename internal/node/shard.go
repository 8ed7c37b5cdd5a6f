package node

// Shard is a part of the nodes that a scheduler may ask for.
type Shard struct {
	Name  string // "None" = the nodes without a shard, as in Ironic
	Count int    // how many nodes are in it
}
