package node

// OfferedSteps are the steps that implementations offer, by where they are listed.
func OfferedSteps() map[string]StepSpec {
	out := map[string]StepSpec{}
	for _, h := range hardware {
		for iface, impls := range h.Implementations {
			for _, i := range impls {
				for _, f := range []Family{DeployFamily, CleanFamily} {
					for _, s := range i.steps(f) {
						s.Interface = iface
						out[h.Name+", "+iface+" "+i.Name+", "+string(f)+" step "+s.Step] = s
					}
				}
			}
		}
	}
	return out
}
