package durward_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"durward"
)

func TestErrorsSayWhereAndKeepTheirCause(t *testing.T) {
	err := durward.Errorf(durward.Unavailable, "server github", "cannot start: %w", io.ErrUnexpectedEOF)
	if err.Error() != "server github: cannot start: unexpected EOF" || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v", err)
	}
	if got := durward.KindOf(fmt.Errorf("outer: %w", err)); got != durward.Unavailable {
		t.Errorf("kind of a wrapped error: %v", got)
	}
	if got := durward.KindOf(io.EOF); got != durward.Internal {
		t.Errorf("kind of a foreign error: %v", got)
	}
	if got := (&durward.Error{Message: "plain"}).Error(); got != "plain" {
		t.Error(got)
	}
}

func TestKindsAndRisksReadWhatTheyWrite(t *testing.T) {
	for k := durward.Internal; k <= durward.Unknown; k++ {
		if got, err := durward.ParseKind(k.String()); err != nil || got != k {
			t.Errorf("%v: %v %v", k, got, err)
		}
	}
	if _, err := durward.ParseKind("nonsense"); err == nil {
		t.Error("a kind that is none was read")
	}
	for r := durward.RiskUnset; r <= durward.RiskCritical; r++ {
		if got, err := durward.ParseRisk(r.String()); err != nil || got != r {
			t.Errorf("%v: %v %v", r, got, err)
		}
	}
	if _, err := durward.ParseRisk("HIGH"); durward.KindOf(err) != durward.Invalid {
		t.Errorf("a risk that is none: %v", err)
	}
	if durward.Risk(200).String() != "critical" || durward.Kind(200).String() != "internal" {
		t.Error("an unknown value must be the worst")
	}
}

func TestServerNames(t *testing.T) {
	for _, name := range []string{"a", "github", "a-1", "abcdefghijklmnopqrstuvwxyzabcdef"} {
		if err := durward.CheckServerName(name); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"", "A", "1a", "a_b", "a__b", "local", "builtin", "durward", "host", "ä", "a b", "abcdefghijklmnopqrstuvwxyzabcdefg"} {
		if err := durward.CheckServerName(name); durward.KindOf(err) != durward.Invalid {
			t.Errorf("%q: %v", name, err)
		}
	}
}
