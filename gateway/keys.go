package gateway

import "durward"

// SetSealKeys puts other keys in place of those in [Options.SealKeys]: a rotation.
// The first seals from now on, all open, and what was sealed with a key that is
// not among them is void: at most 8, else the error is Invalid and nothing
// changes. Calls, sessions and connections go on.
func (g *Gateway) SetSealKeys(keys []durward.SealKey) error { return g.ring.Replace(keys...) }
