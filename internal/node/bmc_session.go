package node

// BMCSession is a session that a conductor has with a BMC.
type BMCSession struct {
	Path    string // at the BMC
	Created string // when it was created, as the BMC tells it; "" = it does not
}
