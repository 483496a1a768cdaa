package yamlx_test

import (
	"testing"

	"durward/internal/yamlx"
)

func TestTree(t *testing.T) {
	src := yamlx.Parse("f", []byte("a: [1, '1', true, null, x]\nb:\n  c: \"d\\te\"\n"), yamlx.Limits{})
	root := src.Tree()
	if root == nil || root.Kind != yamlx.Mapping || len(root.Keys) != 2 {
		t.Fatalf("%+v, %v", root, src.Err())
	}
	want := []string{"number", "text", "truth", "null", "text"}
	for i, item := range root.Get("a").Items {
		if item.Type != want[i] {
			t.Errorf("a[%d] is %s, not %s", i, item.Type, want[i])
		}
	}
	c := root.Get("b").Get("c")
	if c.Text != "d\te" || c.Line != 3 || c.Column != 6 || root.Get("c") != nil {
		t.Errorf("%+v", c)
	}
	for name, text := range map[string]string{
		"a key twice": "a: 1\na: 2\n", "an alias": "a: &x 1\nb: *x\n", "a merge key": "<<: {a: 1}\n", "a tag": "a: !!str 1\n", "a list as key": "? [a]\n: b\n",
	} {
		if src := yamlx.Parse("f", []byte(text), yamlx.Limits{}); src.Tree() != nil || src.Err() == nil {
			t.Errorf("%s is taken", name)
		}
	}
	if src := yamlx.Parse("f", []byte("[a, b, c, d]"), yamlx.Limits{Nodes: 3}); src.Tree() != nil {
		t.Error("more values than permitted are taken")
	}
}
