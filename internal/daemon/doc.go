// Package daemon is the composition root: it turns a configuration into a
// running service — gateway, listeners, service API — and takes it down again.
// Starting is a transaction: what was started is stopped when a later step fails.
package daemon
