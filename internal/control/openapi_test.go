package control_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"durward/internal/control"
)

var update = flag.Bool("update", false, "write docs/reference/openapi.json")

// The committed document is what the service would serve. go test ./internal/control -update writes it.
func TestTheOpenAPIDocumentIsUpToDate(t *testing.T) {
	doc, err := control.OpenAPI("1")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("..", "..", "docs", "reference", "openapi.json")
	if *update {
		if err := os.WriteFile(file, doc, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	old, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(old, doc) {
		t.Errorf("%s is stale (%v): run go test ./internal/control -update", file, err)
	}
}

func TestTheOpenAPIDocumentIsSound(t *testing.T) {
	doc, err := control.OpenAPI("1")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		OpenAPI string `json:"openapi"`
		Paths   map[string]map[string]struct {
			ID        string `json:"operationId"`
			Summary   string `json:"summary"`
			Security  []map[string][]control.Scope
			Responses map[string]any
		} `json:"paths"`
		Components struct {
			Schemas         map[string]any `json:"schemas"`
			SecuritySchemes map[string]any `json:"securitySchemes"`
		} `json:"components"`
	}
	if err := json.Unmarshal(doc, &d); err != nil || !strings.HasPrefix(d.OpenAPI, "3.1.") || len(d.Paths) < 15 {
		t.Fatalf("%v %s, %d paths", err, d.OpenAPI, len(d.Paths))
	}
	ids := map[string]bool{}
	for path, operations := range d.Paths {
		for method, op := range operations {
			if op.ID == "" || ids[op.ID] || op.Summary == "" || len(op.Responses) < 2 {
				t.Errorf("%s %s: %+v", method, path, op)
			}
			// Every route has a scope, and what is not a GET needs the one that permits changes. To
			// evaluate takes either of the two, since either may want to know.
			if (len(op.Security) != 1) != (op.ID == "explainPolicy") || len(op.Security[0]["token"]) != 1 || d.Components.SecuritySchemes["token"] == nil {
				t.Errorf("%s %s: security %v", method, path, op.Security)
			} else if scope := op.Security[0]["token"][0]; scope != control.Operate && scope != control.Approve && (scope != control.Read || method != "get") {
				t.Errorf("%s %s: scope %q", method, path, scope)
			}
			ids[op.ID] = true
		}
	}
	for _, ref := range strings.Split(string(doc), `"$ref": "#/components/schemas/`)[1:] {
		name, _, _ := strings.Cut(ref, `"`)
		if d.Components.Schemas[name] == nil {
			t.Errorf("no schema %s", name)
		}
	}
}
