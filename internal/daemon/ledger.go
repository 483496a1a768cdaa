package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"durward"
	"durward/gateway"
	"durward/internal/config"
	"durward/internal/paths"
	"durward/internal/private"
	"durward/internal/secret"
	"durward/internal/store/journal"
	"durward/internal/store/sqlite"
	"durward/internal/telemetry"
	"durward/ledger"
)

// book is the ledger of a running service, and what belongs to it.
type book struct {
	*ledger.Ledger
	cfg         config.Ledger
	path        string
	journal     *journal.Journal // what calls are written to
	store       *sqlite.DB       // where they are a moment later
	reader      *sqlite.Reader
	checkpoints *ledger.Checkpoints
	hub         hub
	policy      func() string           // digest of what decides calls; nil before there is any
	ended       func(durward.SessionID) // told of sessions that end; nil: nobody is
	log         *slog.Logger

	keeping running // removes what is old
	signing running // signs checkpoints
}

var (
	_ gateway.Recorder        = (*book)(nil)
	_ gateway.SessionRecorder = (*book)(nil)
)

// SessionBegan implements gateway.SessionRecorder.
func (b *book) SessionBegan(c durward.Caller, r durward.Route) {
	begun := &ledger.SessionStart{
		ID: c.Session, At: now(), Principal: c.Principal, Entrance: c.Entrance, Process: c.Process, Client: c.Client, Route: r.String(), Era: "legacy",
	}
	if b.policy != nil {
		begun.Policy = b.policy()
	}
	b.Later(begun)
}

// SessionEnded implements gateway.SessionRecorder.
func (b *book) SessionEnded(c durward.Caller, reason string) {
	b.Later(&ledger.SessionEnd{ID: c.Session, At: now(), Reason: reason})
	if b.ended != nil {
		b.ended(c.Session)
	}
}

// now is the time as the ledger keeps it.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// LedgerError says that the service did not start because calls could not be
// recorded.
type LedgerError struct {
	Path string // of the database
	Err  error
}

// Error says what happened and where.
func (e *LedgerError) Error() string {
	return fmt.Sprintf("the ledger %s cannot be opened, and no call may pass unrecorded: %v", e.Path, e.Err)
}

// Unwrap returns the cause.
func (e *LedgerError) Unwrap() error { return e.Err }

// openLedger opens the ledger, unless the configuration says that there is none.
func (s *Service) openLedger(ctx context.Context) error {
	if !s.config.Ledger.Enabled {
		s.log.Warn("nothing is recorded: ledger.enabled is false")
		return nil
	}
	path := ledgerPath(s.config)
	b, err := openBook(ctx, s.config.Ledger, path, s.withoutSecrets, s.log, s.telemetry)
	if err != nil {
		return &LedgerError{Path: path, Err: err}
	}
	s.ledger = b
	s.later(b.close)
	key, err := signingKey()
	if err != nil {
		return &LedgerError{Path: path, Err: err}
	}
	s.generated = append(s.generated, key)
	s.telemetry.WatchLedger(b.figures)
	detail := fmt.Sprintf("durward %s, pid %d, configuration %s", s.opt.Version, os.Getpid(), s.config.Digest())
	if err := b.Append(ctx, noteOf("service start", detail)); err != nil { // whether anything can be recorded is known now
		return &LedgerError{Path: path, Err: err}
	}
	for _, file := range b.journal.Aside() {
		if err := b.Append(ctx, noteOf("journal aside", file+" holds records that do not follow this ledger")); err != nil {
			return &LedgerError{Path: path, Err: err}
		}
	}
	return b.start()
}

// keyMost bounds the file of the key that signs checkpoints, in bytes.
const keyMost = 64 << 10

// signingKey is the text of the key that signs checkpoints: whoever has it can forge
// them, and a tool that reads files may come across it.
func signingKey() (secret.Value, error) {
	text, err := private.Read(paths.LedgerKey(), keyMost)
	return secret.New(strings.TrimSpace(string(text))), err
}

// ledgerPath is where a configuration has its ledger.
func ledgerPath(c *config.Config) string {
	if c.Ledger.Path != "" {
		return c.Ledger.Path
	}
	return paths.Ledger()
}

func openBook(ctx context.Context, cfg config.Ledger, path string, redact func([]byte) []byte, log *slog.Logger, meter *telemetry.Telemetry) (*book, error) {
	db, err := sqlite.Open(ctx, sqlite.Options{Path: path, Log: log})
	if err != nil {
		return nil, err
	}
	j, err := journal.Open(ctx, journal.Options{Store: db, Path: path, Full: cfg.Sync == config.SyncFull, Log: log})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	b := &book{cfg: cfg, path: path, journal: j, store: db, log: log}
	b.Ledger, err = ledger.Open(ctx, ledger.Options{
		Store: meter.Measured(j), Full: cfg.Sync == config.SyncFull, Bodies: cfg.Bodies, Redact: redact,
		Queue: cfg.Queue, Wait: cfg.Wait, BodyMost: cfg.BodyMost, Log: log, Committed: b.hub.committed,
	})
	if err != nil {
		return nil, errors.Join(err, j.Close())
	}
	if b.reader, err = db.OpenReader(ctx); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	b.hub.begin(b.Head().Seq)
	// Before anything is recorded: what came before the key is not vouched for.
	b.checkpoints, err = ledger.OpenCheckpoints(ctx, ledger.CheckpointsOptions{
		Path: paths.LedgerCheckpoints(path), Key: paths.LedgerKey(), Head: b.Head, Links: db, Note: b.Append, Sync: j.Sync, Log: log,
	})
	if err != nil {
		return nil, errors.Join(err, b.Close(), b.reader.Close())
	}
	return b, nil
}

// start begins to sign and to remove.
func (b *book) start() error {
	signer, err := ledger.NewCheckpointer(ledger.CheckpointerOptions{Checkpoints: b.checkpoints, Log: b.log})
	if err != nil {
		return err
	}
	keeper, err := ledger.NewHousekeeper(ledger.HousekeeperOptions{Keep: b.keep(ledger.Retention(b.cfg.Keep))})
	if err != nil {
		return err
	}
	b.signing.begin(signer.Run)
	b.keeping.begin(keeper.Run)
	return nil
}

// keep is how what is old is removed.
func (b *book) keep(r ledger.Retention) ledger.KeepOptions {
	return ledger.KeepOptions{Retention: r, Store: b.store, Checkpoints: b.checkpoints, Log: b.log}
}

// flush returns when the store has what was recorded until now.
func (b *book) flush(ctx context.Context) error {
	if err := b.Flush(ctx); err != nil {
		return err
	}
	return b.journal.Flush(ctx)
}

// current is the reader, once it can read what was recorded until now. A ledger that
// cannot be written is still read: what keeps it from that is told elsewhere.
func (b *book) current(ctx context.Context) *sqlite.Reader {
	_ = b.flush(ctx)
	return b.reader
}

// settled is the store of a book, once it has what was recorded until now.
type settled struct{ *book }

// Links implements ledger.Auditor.
func (s settled) Links(ctx context.Context, from uint64, f func(ledger.Link, []ledger.Record) error) error {
	if err := s.flush(ctx); err != nil {
		return err
	}
	return s.store.Links(ctx, from, f)
}

// Call implements lookup. A store that takes nothing is read all the same, but what is
// not in it may be in the journal.
func (s settled) Call(ctx context.Context, id string) (*ledger.Story, error) {
	failed := s.flush(ctx)
	story, err := s.reader.Call(ctx, id)
	if failed != nil && durward.KindOf(err) == durward.NotFound {
		return nil, failed
	}
	return story, err
}

// Bodies implements ledger.Auditor.
func (s settled) Bodies(ctx context.Context, f func(ledger.BodyInfo, io.Reader) error) error {
	return s.store.Bodies(ctx, f)
}

// close writes down that the service ends, closes the ledger, and signs where it
// ended. The gateway has been closed: nothing more is called.
func (b *book) close() error {
	b.hub.close()
	err := b.keeping.end()
	// A ledger that cannot be written says so when it is closed.
	_ = b.Append(context.Background(), noteOf("service stop", fmt.Sprintf("pid %d", os.Getpid())))
	return errors.Join(err, b.reader.Close(), b.Close(), b.signing.end(), b.checkpoints.Close())
}

// running is something that runs until it is ended. Its zero value does not.
type running struct {
	stop context.CancelFunc
	over chan error
}

func (r *running) begin(run func(context.Context) error) {
	ctx, stop := context.WithCancel(context.Background())
	r.stop, r.over = stop, make(chan error, 1)
	go func() { r.over <- run(ctx) }()
}

func (r *running) end() error {
	if r.stop == nil {
		return nil
	}
	r.stop()
	return <-r.over
}

func noteOf(what, detail string) *ledger.Note {
	return &ledger.Note{At: now(), What: what, Detail: detail}
}

// recorder is what the gateway writes calls down with; nil without a ledger.
func (s *Service) recorder() gateway.Recorder {
	if s.ledger == nil {
		return nil
	}
	return s.ledger
}

// recording says in a sentence where calls are recorded, and what is wrong with that.
func (s *Service) recording() (where, problem string) {
	if s.ledger == nil {
		return "none: nothing is recorded (ledger.enabled is false)", ""
	}
	where = "every call is recorded before it acts, in " + s.ledger.path
	if since, err := s.ledger.State(); err != nil {
		problem = fmt.Sprintf("nothing can be recorded since %s, so calls are refused: %v", since.Local().Format(time.DateTime), err)
	}
	return where, problem
}

// ready reports whether calls can be recorded. It is told to everybody: it has no
// path in it and no cause.
func (b *book) ready() error {
	if b == nil {
		return nil
	}
	if _, err := b.State(); err != nil {
		return durward.Errorf(durward.Unavailable, "", "calls cannot be recorded, so they are refused; durward status says why")
	}
	return nil
}
