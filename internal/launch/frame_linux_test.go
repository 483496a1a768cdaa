package launch

import (
	"bytes"
	"slices"
	"testing"
)

// FuzzFrame feeds arbitrary bytes to the reader both sides of the control socket use.
func FuzzFrame(f *testing.F) {
	var seed bytes.Buffer
	o := order{mode: modeNamespace, path: "/bin/true", dir: "/", argv: []string{"true", "a b"}, env: []string{"A=b"}}
	if err := writeFrame(&seed, frameStart, o.fields()...); err != nil {
		f.Fatal(err)
	}
	f.Add(seed.Bytes())
	f.Add([]byte("S\x00\x00\x00\x05a\x00b\x009"))
	f.Add([]byte("X\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		kind, fields, err := readFrame(bytes.NewReader(data), maxReport)
		if err != nil {
			return
		}
		var again bytes.Buffer
		if err := writeFrame(&again, kind, fields...); err != nil || !bytes.HasPrefix(data, again.Bytes()) {
			t.Fatalf("%q came back as %q, %v", data, again.Bytes(), err)
		}
		o, err := parseOrder(fields)
		if err == nil && len(o.argv)+len(o.env)+4 != len(fields) {
			t.Fatalf("fields lost: %+v of %q", o, fields)
		}
		_ = parseFailure(fields)
	})
}

func TestOrderSurvivesItsFrame(t *testing.T) {
	in := order{mode: modeSubreaper, path: "/p", argv: []string{"p", "", "x\ny"}, env: []string{"A=", "B=c d"}}
	out, err := parseOrder(in.fields())
	if err != nil || out.mode != in.mode || out.path != in.path || out.dir != in.dir || !slices.Equal(out.argv, in.argv) || !slices.Equal(out.env, in.env) {
		t.Errorf("%+v, %v", out, err)
	}
}
