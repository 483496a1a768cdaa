// Package sqlite keeps the ledger of one machine in one SQLite file: one writer,
// any number of readers, write-ahead logging, migrations forward only. Clients
// never send SQL.
package sqlite
