package policy

import _ "embed"

// specSource is the text of spec.go: its comments are the reference of the keys.
//
//go:embed spec.go
var specSource string

// SpecSource returns the Go source of [Spec] and of what belongs to it, for
// references that are made of its comments.
func SpecSource() string { return specSource }
