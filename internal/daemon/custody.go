package daemon

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"durward"
	"durward/client"
	"durward/internal/control"
	"durward/internal/ledgerapi"
	"durward/internal/paths"
	"durward/ledger"
)

// custody looks after the ledger, for the service API.
type custody Service

var _ control.Custody = (*custody)(nil)

// there returns the ledger; an error of kind NotFound without one.
func (s *Service) there() (*book, error) {
	if s.ledger == nil {
		return nil, durward.Errorf(durward.NotFound, "ledger", "nothing is recorded: ledger.enabled is false in %s", s.file())
	}
	return s.ledger, nil
}

// Info implements control.Custody.
func (c *custody) Info(ctx context.Context) (*client.LedgerInfo, error) {
	b, err := (*Service)(c).there()
	if err != nil {
		return nil, err
	}
	head, newest := b.Head(), b.checkpoints.Newest()
	info := &client.LedgerInfo{
		File: b.path, Sync: string(b.cfg.Sync), Bodies: b.cfg.Bodies, Head: ledgerapi.Link(&head),
		Checkpoints: paths.LedgerCheckpoints(b.path), Key: b.checkpoints.Verifier(),
		Checkpoint: client.LedgerAnchor{Seq: newest.Seq, Time: newest.Time},
	}
	info.Keep.Rows, info.Keep.Bodies, info.Keep.MaxSize = b.cfg.Keep.Words()
	_ = b.flush(ctx) // whoever asks may be about to read the file
	info.Truncated, info.BodiesGone = b.checkpoints.Truncated()
	if since, failed := b.State(); failed != nil {
		info.Problem, info.Since = failed.Error(), since
	}
	info.Bytes, err = b.store.Size(ctx)
	if err != nil && info.Problem == "" {
		info.Problem = err.Error()
	}
	return info, nil
}

// RotateLedger implements control.Keys.
func (k *keys) RotateLedger(ctx context.Context, by durward.Caller) (*client.LedgerInfo, error) {
	s := (*Service)(k)
	b, err := s.there()
	if err != nil {
		return nil, err
	}
	s.changes.Lock()
	defer s.changes.Unlock()
	c := changed(&by, "ledger key rotate", paths.LedgerKey())
	c.OldHash = b.checkpoints.Verifier() // its public half: who has it can check it
	if err := s.record(ctx, c); err != nil {
		return nil, err
	}
	if c.NewHash, err = b.checkpoints.RotateKey(ctx); err != nil {
		s.undone(*c, "failed", err.Error())
		return nil, err
	}
	s.undone(*c, "done", "")
	key, err := signingKey()
	if err != nil {
		return nil, err
	}
	s.generated = append(s.generated, key) // changes is held
	s.secrets.Store(s.secretsOf(s.config, s.sealing.Load()))
	return (*custody)(s).Info(ctx)
}

// Verify implements control.Custody.
func (c *custody) Verify(ctx context.Context, progress func(client.Work)) (*client.Verified, error) {
	b, err := (*Service)(c).there()
	if err != nil {
		return nil, err
	}
	keys, err := verifiers()
	if err != nil {
		return nil, err
	}
	if err := b.checkpoints.Add(ctx); err != nil { // what is signed now is what was committed, whatever the file holds by now
		b.log.Warn("the ledger is verified up to the checkpoint before, as its end cannot be signed", "error", err)
	}
	report, err := ledger.Verify(ctx, b.store, ledger.VerifyOptions{
		Checkpoints: paths.LedgerCheckpoints(b.path), Verifiers: keys, Progress: work(progress),
	})
	if err != nil {
		return nil, err
	}
	return ledgerapi.Verified(report)
}

func work(progress func(client.Work)) ledger.Progress {
	return func(done, of int64) { progress(client.Work{Done: done, Total: of}) }
}

// Prune implements control.Custody.
func (c *custody) Prune(ctx context.Context, by durward.Caller, r client.PruneRequest, progress func(client.Work)) (*client.Pruned, error) {
	s := (*Service)(c)
	b, err := s.there()
	if err != nil {
		return nil, err
	}
	keep, err := b.cfg.Keep.Parse(r.Rows, r.Bodies, r.MaxSize)
	if err != nil {
		return nil, err
	}
	change := changed(&by, "ledger prune", b.path)
	rows, bodies, size := keep.Words()
	change.Detail = "rows " + rows + ", bodies " + bodies + ", max_size " + size
	if r.Damaged {
		change.Detail += ", what is damaged too"
	}
	if err := s.record(ctx, change); err != nil {
		return nil, err
	}
	// What is removed has to be signed first, and only what was signed is.
	if err := b.checkpoints.Add(ctx); err != nil {
		return nil, err
	}
	opt := b.keep(ledger.Retention(keep))
	opt.Damaged, opt.Progress = r.Damaged, work(progress)
	kept, err := ledger.Keep(ctx, opt)
	if err != nil {
		return nil, err
	}
	done := &client.Pruned{Rows: max(kept.Rows, kept.Resumed), Bodies: kept.Bodies, Over: kept.Over}
	done.Bytes, err = b.store.Size(ctx)
	return done, err
}

// Backup implements control.Custody.
func (c *custody) Backup(ctx context.Context, by durward.Caller, r client.BackupRequest, progress func(client.Work)) (*client.Backup, error) {
	s := (*Service)(c)
	b, err := s.there()
	if err != nil {
		return nil, err
	}
	if !filepath.IsAbs(r.File) {
		return nil, durward.Errorf(durward.Invalid, "ledger backup", "file must be an absolute path: the service has another working directory than its callers")
	}
	if err := s.record(ctx, changed(&by, "ledger backup", r.File)); err != nil {
		return nil, err
	}
	if err := b.checkpoints.Add(ctx); err != nil {
		return nil, err
	}
	keys, err := verifiers()
	if err != nil {
		return nil, err
	}
	err = ledger.Backup(ctx, b.store, ledger.BackupOptions{
		To: r.File, Checkpoints: paths.LedgerCheckpoints(b.path), Verifiers: keys, Progress: work(progress),
	})
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(r.File)
	if err != nil {
		return nil, durward.Errorf(durward.Unavailable, "ledger backup", "%w", err)
	}
	return &client.Backup{File: r.File, Checkpoints: ledger.BackupCheckpoints(r.File), Bytes: info.Size()}, nil
}

// verifiers are the public halves of the keys that signed checkpoints.
func verifiers() ([]string, error) {
	keys, err := ledger.Verifiers(paths.LedgerKey())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return keys, err
}

// Follow implements control.Custody.
func (c *custody) Follow(_ context.Context, f client.CallFilter, after string) (control.Follower, error) {
	b, err := (*Service)(c).there()
	if err != nil {
		return nil, err
	}
	filter, err := ledgerapi.CallFilter(&f, time.Now())
	if err != nil {
		return nil, err
	}
	return b.hub.follow(settled{b}, settled{b}, filter, after)
}
