package wire_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"testing"

	"durward/internal/wire"
)

func TestWithheldSaysNothingOfAContentButItsSizeAndDigest(t *testing.T) {
	content := []byte(`{"arguments":{"password":"hunter2"}}`)
	got := wire.Withheld(content)
	var marker map[string]struct {
		Bytes  int    `json:"bytes"`
		SHA256 string `json:"sha256"`
	}
	if err := json.Unmarshal(got, &marker); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(content)
	if m := marker[wire.MemberWithheld]; len(marker) != 1 || m.Bytes != len(content) || m.SHA256 != hex.EncodeToString(sum[:]) {
		t.Errorf("%s", got)
	}
}
