package config

import (
	_ "embed"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"sync"

	"durward/policy"
)

// The comments of the fields are the reference, so they are part of the program.
var (
	//go:embed file.go
	fileSource string
	//go:embed file_ledger.go
	ledgerSource string
	//go:embed file_telemetry.go
	telemetrySource string
	//go:embed limits.go
	limitsSource string
)

// comments returns the comments of all types, and of all fields by "type.Field".
var comments = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	for _, source := range []string{fileSource, ledgerSource, telemetrySource, limitsSource, policy.SpecSource()} {
		file, err := parser.ParseFile(token.NewFileSet(), "", source, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			panic(err) // it was compiled from the same text
		}
		ast.Inspect(file, func(n ast.Node) bool {
			decl, ok := n.(*ast.GenDecl)
			if !ok || decl.Tok != token.TYPE {
				return true
			}
			for _, spec := range decl.Specs {
				named := spec.(*ast.TypeSpec) // there are no others in such a declaration
				out[named.Name.Name] = oneLine(decl.Doc.Text())
				if body, ok := named.Type.(*ast.StructType); ok {
					addComments(out, named.Name.Name, body)
				}
			}
			return false
		})
	}
	return out
})

func addComments(out map[string]string, owner string, body *ast.StructType) {
	for _, field := range body.Fields.List {
		for _, name := range field.Names {
			out[owner+"."+name.Name] = oneLine(field.Doc.Text())
		}
	}
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
