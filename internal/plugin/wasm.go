package plugin

import "durward"

type host struct{}

func (h *host) close() error { return nil }

type module struct{}

func (s *Set) load(o *one, c Config) error {
	return durward.Errorf(durward.Invalid, "policy.plugins."+o.name+".wasm", "%s: this build runs no WebAssembly", c.WASM)
}

func (r *run) foreign(o *one) error { return nil }
