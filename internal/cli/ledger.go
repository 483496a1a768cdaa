package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"durward"
	"durward/client"
	"durward/internal/config"
	"durward/internal/paths"
	"durward/internal/store/journal"
	"durward/internal/store/sqlite"
	"durward/ledger"
)

func newLedger(std Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ledger",
		Short: "Verify, export, prune and copy the record of all calls",
		Long: "Verify, export, prune and copy the record of all calls. durward calls and durward show read it.\n" +
			"What reads can do so without the service, and while it runs.\n" + exitHelp,
		RunE: needsSubcommand,
	}
	cmd.AddCommand(newLedgerInfo(std), newLedgerVerify(std), newLedgerExport(std), newLedgerPrune(std), newLedgerBackup(std), newLedgerRotateKey(std), newLedgerReindex(std))
	return cmd
}

// fileFlag adds --file to a command.
func fileFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "file", "", "read this ledger instead of that of the service; it may be in use")
	_ = cmd.MarkFlagFilename("file", "db") // the flag was declared above
}

// archive is a ledger that is read without the service.
type archive struct {
	*sqlite.Reader
	path        string
	checkpoints string   // the file with the signed checkpoints that belong to it
	keys        []string // that signed them
}

// openArchive opens a ledger for reading: the one at file, or that of the service.
func openArchive(ctx context.Context, file string) (*archive, error) {
	path, err := ledgerPath(ctx, file)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, withHint(durward.Errorf(durward.NotFound, "", "there is no ledger %s", path), "the service makes one when it starts, where ledger.path says; --file names another")
	}
	a := &archive{path: path}
	if err := a.proofs(); err != nil {
		return nil, err
	}
	if err := takeIn(ctx, path); err != nil {
		return nil, err
	}
	a.Reader, err = sqlite.OpenReader(ctx, path)
	return a, err
}

// takeIn has a ledger take what a service that was killed left in its journal. One that
// is in use takes it by itself.
func takeIn(ctx context.Context, path string) error {
	pending, err := journal.Pending(path)
	if err != nil || !pending {
		return err
	}
	db, err := sqlite.Open(ctx, sqlite.Options{Path: path, Busy: time.Millisecond})
	if err != nil {
		if durward.KindOf(err) == durward.Conflict {
			return nil
		}
		return withHint(err, "what was recorded last is in the journal beside it, and is read once the file can be written")
	}
	j, err := journal.Open(ctx, journal.Options{Store: db, Path: path, Strict: true})
	if err != nil {
		hint := "what was recorded last is in the journal beside it, and is read once that can be taken"
		if durward.KindOf(err) == durward.Conflict {
			hint = "it is from another moment than the database, or of another one; the service keeps aside what it cannot use when it starts"
		}
		return errors.Join(withHint(err, "%s", hint), db.Close())
	}
	return j.Close()
}

// ledgerPath returns where a ledger is: file, or else what the service that runs
// says, or else the configuration.
func ledgerPath(ctx context.Context, file string) (string, error) {
	var err error
	if file == "" {
		file, err = servedLedger(ctx)
	}
	if file == "" && err == nil {
		file, err = configuredLedger()
	}
	if err != nil {
		return "", err
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return "", durward.Errorf(durward.Invalid, "", "%s: %w", file, err)
	}
	return path, nil
}

// servedLedger returns the ledger of the service that runs, "" if none runs, or one
// that records nothing now: what it recorded before is where the configuration says.
func servedLedger(ctx context.Context) (string, error) {
	service, err := runningService(ctx)
	if err != nil || service == nil {
		return "", err
	}
	info, err := service.Ledger(ctx)
	switch {
	case err == nil:
		return info.File, nil
	case durward.KindOf(err) == durward.NotFound:
		return "", nil
	}
	return "", err
}

// configuredLedger returns the ledger of the configuration. The path holds no
// references, so it does not matter here what they stand for: whoever reads the
// record need not have the environment of the service.
func configuredLedger() (string, error) {
	load := loadOptions(configFile(nil))
	load.Optional = true
	load.Env = func(name string) (string, bool) {
		if value, ok := os.LookupEnv(name); ok {
			return value, true
		}
		return "unset", true
	}
	c, err := config.Load(load)
	if err != nil {
		return "", withHint(err, "correct the file, or name the ledger: --file FILE")
	}
	if c.Ledger.Path == "" {
		return paths.Ledger(), nil
	}
	return c.Ledger.Path, nil
}

// proofs finds what a ledger is verified with: a copy has it beside it.
func (a *archive) proofs() error {
	key := paths.LedgerKey()
	a.checkpoints = paths.LedgerCheckpoints(a.path)
	if beside := ledger.BackupCheckpoints(a.path); isFile(beside) {
		a.checkpoints, key = beside, a.path
	}
	var err error
	if a.keys, err = ledger.Verifiers(key); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func isFile(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular()
}

// ledgerService returns the service whose ledger is meant, or nil if it is to be
// read without one: because a file is named, or none runs.
func ledgerService(ctx context.Context, file string) (*client.Client, error) {
	if file != "" {
		return nil, nil //nolint:nilnil // that none is wanted is no error
	}
	return runningService(ctx)
}

// told is what the service calls how far it is.
func told(b *bar) func(client.Work) { return func(w client.Work) { b.tell(w.Done, w.Total) } }

// interrupted says what an interrupt left, instead of that it happened.
func interrupted(ctx context.Context, err error, left string) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	return durward.Errorf(durward.Unavailable, "", "interrupted; %s", left)
}
