// Package config turns one strict YAML file into a defaulted, validated,
// immutable [Config], or says everything that is wrong with it at once.
//
// It sets nothing up and starts nothing: the only things it reads besides the
// file are what ${env:…} and ${file:…} name. It never watches and never merges;
// layers come later.
//
// Start with [Load]. What each key means is said where it is declared: the
// comments in file.go are the reference.
package config
