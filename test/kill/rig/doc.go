// Package rig is what the tests that kill and starve the service are made of: the
// real service in one incarnation after the other on one state directory, the
// server that counts what reaches it, clients of both eras, and the ledger as it
// lies on disk.
//
// Start at [Build], [NewService] and [NewClient].
package rig
