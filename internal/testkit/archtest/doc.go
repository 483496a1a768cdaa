// Package archtest holds the floor plan of ARCHITECTURE.md as a test: which
// package may import which, and which third-party library has which owner.
package archtest
