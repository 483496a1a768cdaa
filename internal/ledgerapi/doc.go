// Package ledgerapi is the ledger in the words of the service API, and back:
// package client declares them, package ledger what they stand for. The service
// uses it, and the commands that read a ledger without one.
//
// Start with [Call] and [CallFilter].
package ledgerapi
