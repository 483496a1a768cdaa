package ledger

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"durward"
	"durward/internal/private"
)

const backupOp = "ledger backup"

// BackupOptions configure [Backup].
type BackupOptions struct {
	To          string   // path of the copy, which must not be there yet; required
	Checkpoints string   // path of the checkpoint file; one that is not there is not copied
	Verifiers   []string // that are kept with the copy
	Progress    Progress // default: nobody
}

// BackupCheckpoints returns the path of the checkpoints that belong to a copy that
// [Backup] made. The verifiers are where [VerifiersPath] says for the copy.
func BackupCheckpoints(copied string) string { return copied + ".checkpoints" }

// Backup writes a consistent copy of a store that may be in use, and beside it what
// it is verified with. The checkpoints are read first: none of them is about what
// came after the copy was made. On error nothing is left behind. An error of kind
// Conflict says that there is such a file.
func Backup(ctx context.Context, from interface {
	Backup(ctx context.Context, path string, progress func(done, of int64)) error
}, opt BackupOptions,
) (err error) {
	if opt.To == "" {
		return durward.Errorf(durward.Invalid, backupOp, "no path was given")
	}
	for _, path := range []string{opt.To, BackupCheckpoints(opt.To), VerifiersPath(opt.To)} {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return durward.Errorf(durward.Conflict, backupOp, "%s is there already; name a new file", path)
		}
	}
	var signed []byte
	if opt.Checkpoints != "" {
		if signed, err = private.Read(opt.Checkpoints, checkpointFileMost); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return durward.Errorf(durward.KindOf(err), backupOp, "the checkpoints: %w", err)
		}
	}
	m := newMeter(opt.Progress, 0)
	if err := from.Backup(ctx, opt.To, m.set); err != nil {
		kind := durward.KindOf(err)
		err = durward.Errorf(kind, backupOp, "%w", err)
		if kind == durward.Conflict { // somebody else was faster, and it is his file
			return err
		}
		return errors.Join(err, discard(opt.To))
	}
	if err := unpruned(opt.Checkpoints, signed); err != nil {
		return errors.Join(err, discard(opt.To))
	}
	if signed != nil {
		err = private.Create(BackupCheckpoints(opt.To), signed)
	}
	for _, v := range opt.Verifiers {
		err = errors.Join(err, publish(opt.To, v))
	}
	if err != nil {
		return errors.Join(durward.Errorf(durward.KindOf(err), backupOp, "%w", err), discard(opt.To))
	}
	m.end()
	return nil
}

// unpruned makes sure that nothing was removed from the ledger since its checkpoints
// were read: the copy would lack it, and nothing beside it would say why.
func unpruned(path string, before []byte) error {
	now, err := readCheckpoints(path)
	if err != nil {
		return err
	}
	if now.removals() != parseSheet(before).removals() {
		return durward.Errorf(durward.Unavailable, backupOp, "old records were removed while the copy was made; make it again")
	}
	return nil
}

// discard removes a copy that is not complete, with what belongs to it.
func discard(path string) error {
	var all error
	for _, p := range []string{path, path + "-wal", path + "-shm", BackupCheckpoints(path), VerifiersPath(path)} {
		if err := os.Remove(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
			all = errors.Join(all, err)
		}
	}
	return all
}
