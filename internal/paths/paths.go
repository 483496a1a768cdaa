// Package paths says where Durward's files are (XDG Base Directory
// Specification). It makes no file; it imports the standard library only.
package paths

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
)

// Config returns the path of the user's configuration file.
func Config() string {
	return filepath.Join(base("XDG_CONFIG_HOME", ".config"), "durward", "durward.yaml")
}

// State returns the state directory: tokens, the service's address, its lock.
func State() string { return filepath.Join(base("XDG_STATE_HOME", ".local/state"), "durward") }

// Token returns the path of the file that holds the bearer token (0600).
func Token() string { return filepath.Join(State(), "token") }

// APIToken returns the path of the file that holds the token of the service API
// for everything (0600).
func APIToken() string { return filepath.Join(State(), "api-token") }

// APIReadToken returns the path of the file that holds the token of the service
// API for looking only (0600).
func APIReadToken() string { return filepath.Join(State(), "api-token-read") }

// ApproverToken returns the path of the file that holds the credential of who
// answers questions (0600). No client and no sandbox is given it.
func ApproverToken() string { return filepath.Join(State(), "approver-token") }

// Guard returns the path of the database of grants and pins (0600).
func Guard() string { return filepath.Join(State(), "guard.db") }

// SealKeys returns the path of the file that holds the keys with which the
// service seals what clients carry for it (0600).
func SealKeys() string { return filepath.Join(State(), "seal.keys") }

// Ledger returns the path of the ledger, unless the configuration names another. It
// has a directory of its own (0700), for what belongs to it.
func Ledger() string { return filepath.Join(State(), "ledger", "ledger.db") }

// LedgerCheckpoints returns the path of the signed checkpoints of a ledger, outside
// of its directory. Each ledger has its own, by its absolute path.
func LedgerCheckpoints(ledger string) string {
	name := "ledger"
	if full, err := filepath.Abs(ledger); err == nil && full != Ledger() {
		sum := sha256.Sum256([]byte(full))
		name = hex.EncodeToString(sum[:4])
	}
	return filepath.Join(State(), "checkpoints", name+".checkpoints")
}

// LedgerKey returns the path of the key that signs checkpoints (0600).
func LedgerKey() string { return filepath.Join(State(), "ledger.key") }

// Lock returns the path of the file whose lock a running service holds.
func Lock() string { return filepath.Join(State(), "service.lock") }

// StartLock returns the path of the file whose lock is held by who starts a service
// in the background, until it answers.
func StartLock() string { return filepath.Join(State(), "start.lock") }

// ServiceLog returns the path of the log of a service that was started in the background.
func ServiceLog() string { return filepath.Join(State(), "service.log") }

// Address returns the path of the file that names the HTTP address while the service runs.
func Address() string { return filepath.Join(State(), "http.addr") }

// Socket returns the path of the service's unix socket: in the runtime
// directory, which the system clears, or in the state directory where there is none.
func Socket() string {
	dir := os.Getenv("XDG_RUNTIME_DIR")
	if dir == "" {
		dir = filepath.Dir(State())
	}
	return filepath.Join(dir, "durward", "api.sock")
}

func base(env, fallback string) string {
	if dir := os.Getenv(env); filepath.IsAbs(dir) {
		return dir
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = string(filepath.Separator)
	}
	return filepath.Join(home, filepath.FromSlash(fallback))
}

// Secrets returns the directory of secrets that were moved out of other
// programs' files: one file a secret (0600), named as it is.
func Secrets() string { return filepath.Join(State(), "secrets") }

// Installed returns the directory of the records of what was written into other
// programs' files (0600).
func Installed() string { return filepath.Join(State(), "installed") }
