package gateway_test

import (
	"testing"

	"durward"
	"durward/gateway"
	"durward/internal/seal"
)

// Keys that cannot be taken are refused, at the start and later, and change nothing.
func TestSealKeysAreChecked(t *testing.T) {
	many := make([]durward.SealKey, seal.MaxKeys+1)
	for i := range many {
		many[i] = durward.NewSealKey()
	}
	bad := map[string][]durward.SealKey{"none": {}, "too many": many, "the zero value": {durward.NewSealKey(), {}}}
	opt := gateway.Options{Access: gateway.Access{NoAuth: true}, SealKeys: many[:seal.MaxKeys]}
	g, err := gateway.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}()
	for name, keys := range bad {
		if err := g.SetSealKeys(keys); durward.KindOf(err) != durward.Invalid {
			t.Errorf("%s: %v", name, err)
		}
		if name == "none" {
			continue // at the start: a random one
		}
		opt.SealKeys = keys
		if g, err := gateway.New(opt); durward.KindOf(err) != durward.Invalid {
			t.Errorf("%s: %v, %v", name, g, err)
		}
	}
	if err := g.SetSealKeys(many[1:]); err != nil {
		t.Error(err)
	}
}
