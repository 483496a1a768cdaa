// Package config turns strict YAML files into one defaulted, validated, immutable
// [Config], or says everything that is wrong with them at once.
//
// There are three layers, of which the higher wins: the defaults, the user's
// file, and the corp layer; see [Layer]. References (${env:…}, ${file:…},
// ${secret:…}) are replaced once, and what they were replaced with is known to
// [Config.Secrets].
//
// It sets nothing up and starts nothing. Besides the files it reads what
// references name; it writes nothing but the copy that [KeepLastGood] makes.
//
// Start with [Load]. What each key means is said where it is declared: the
// comments in file.go, file_ledger.go and limits.go are the reference, the schema and what
// [Explain] answers. What each error code means is in [Faults].
package config

//go:generate go run ./docgen
