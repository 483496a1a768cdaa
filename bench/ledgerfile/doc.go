// Package ledgerfile makes ledgers of any size, as a service would have written them,
// and measures how fast they are read.
package ledgerfile
