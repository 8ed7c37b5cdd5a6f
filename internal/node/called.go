package node

// AgentCalled reports whether the agent of the present boot is there: it has
// sent a heartbeat or, where it is booted to be inspected, its inventory.
func (n *Node) AgentCalled(k Kind) bool {
	a := n.Agent
	if a == nil {
		return false
	}
	if k == KindInspect {
		return a.InspectedAt != nil
	}
	return a.URL != "" && a.FirstHeartbeatAt != nil
}
