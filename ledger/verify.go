package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"durward"
)

// VerifyOptions configure [Verify].
type VerifyOptions struct {
	// Checkpoints is the path of the checkpoint file. Copies are files that were kept
	// elsewhere: a rollback of everything on this machine contradicts them.
	Checkpoints string
	Copies      []string
	// Verifiers are the keys to trust: those of the file beside the key ([Verifiers]),
	// or one that was kept elsewhere. Rotations lead from each key to the others.
	Verifiers []string

	// Progress is told of links and bodies, and then, from the beginning, of what an
	// [Inspector] looks at. It knows the end if there are checkpoints, or if the Auditor
	// can tell the last link as [Store.Head] does. Default: nobody.
	Progress Progress
}

// ErrDamaged is in the chain of an error of a store that holds something no store
// wrote: a broken page, a number where a text should be. [Verify] takes any other
// error for one that may pass.
var ErrDamaged = errors.New("the ledger is damaged")

// Inspector is implemented by an [Auditor] whose store keeps more than was recorded:
// indexes, views, what it computes from records. The chain does not cover that, but
// lists and searches are made of it, so [Verify] has it looked at, too.
type Inspector interface {
	// Inspect calls found for what is not as it must be. The records themselves are
	// not its business.
	Inspect(ctx context.Context, found func(where, what string), progress func(done, of int64)) error
}

const (
	// verifyTries bounds how often a check begins anew because something was pruned
	// meanwhile.
	verifyTries = 4
	// tailMost is how long records may be made without a checkpoint before that is
	// strange: one is due every minute, and a crash costs one.
	tailMost = 10 * time.Minute
)

// Verify checks that the ledger is what was written: every link follows the one
// before it and covers the records that are there, every checkpoint and truncation
// of a known key agrees, every body that is named is there and is what its digest
// says, and outcomes belong to intents. It reads everything once, needs some 60 bytes of
// memory a body, and can run while the ledger is written, in this or in another
// process. An error says that the check could not be made (ctx ended, wrong
// verifiers); what the check found, a store that cannot be read included, is in the
// report.
func Verify(ctx context.Context, a Auditor, opt VerifyOptions) (*Report, error) {
	began := time.Now()
	for range verifyTries {
		v, err := newVerification(a, opt, began)
		if err != nil {
			return nil, err
		}
		if err := v.run(ctx); err != nil {
			return nil, err
		}
		s, err := readCheckpoints(opt.Checkpoints)
		if err != nil {
			return nil, err
		}
		if s.removals() != v.removals {
			continue // what was pruned meanwhile may look like damage
		}
		v.meter.end()
		v.report.Elapsed = time.Since(began).Seconds()
		return v.report, nil
	}
	return nil, durward.Errorf(durward.Conflict, verifyOp, "something was pruned each time while the ledger was checked; try again")
}

// readCheckpoints reads a file; one that is not there is empty.
func readCheckpoints(path string) (*sheet, error) {
	if path == "" {
		return &sheet{}, nil
	}
	s, err := readSheet(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	return s, err
}

// removals counts the entries that say that something was removed.
func (s *sheet) removals() (n int) {
	for i := range s.items {
		if e := s.items[i].entry; e != nil && !e.anchors() {
			n++
		}
	}
	return n
}

// verification is the state of one check.
type verification struct {
	store    Auditor
	report   *Report
	meter    *meter
	began    time.Time
	removals int

	anchors []anchor   // by Seq
	cut     Checkpoint // up to where links are removed
	bodies  Checkpoint // up to where bodies are removed
	refs    *refs
}

// anchor is where a known key has signed the chain.
type anchor struct {
	Checkpoint
	where string
}

func newVerification(a Auditor, opt VerifyOptions, began time.Time) (*verification, error) {
	s, err := readCheckpoints(opt.Checkpoints)
	if err != nil {
		return nil, err
	}
	j, err := judge(s, opt.Checkpoints, opt.Verifiers)
	if err != nil {
		return nil, err
	}
	v := &verification{store: a, began: began, removals: s.removals(), refs: newRefs(), report: &Report{Verdict: VerdictOK, Findings: []Finding{}, Keys: j.keys}}
	v.adopt(j)
	for _, path := range opt.Copies {
		if err := v.adoptCopy(path, j.keys); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(v.anchors, func(a, b anchor) int { return cmp.Compare(a.Seq, b.Seq) })
	v.meter = newMeter(opt.Progress, 0)
	return v, nil
}

// adopt takes over what the checkpoint file says.
func (v *verification) adopt(j *judged) {
	for _, t := range j.entries {
		v.report.Checkpoints++
		if t.anchors() {
			v.anchors = append(v.anchors, anchor{t.Checkpoint, fmt.Sprintf("%s line %d", j.file, t.line)})
		}
	}
	v.without(&j.gone)
	for _, t := range j.entries {
		where := fmt.Sprintf("%s line %d", j.file, t.line)
		switch {
		case t.kind == entryBroken && max(t.was.Seq, t.Seq) > v.cut.Seq:
			v.report.add(Finding{Verdict: VerdictDamaged, From: min(t.was.Seq, t.Seq+1), To: t.was.Seq, Where: where, Message: "found at the start at " + stamp(t.Time) + ": " + t.why})
		case t.kind == entryBegan && t.why != beganFirst:
			v.report.add(Finding{Verdict: VerdictOK, Where: where, Message: "at " + stamp(t.Time) + " at link " + fmt.Sprint(t.Seq) + ": " + t.why})
		}
	}
	for _, f := range j.findings {
		v.report.add(f)
	}
	v.beginning(j)
}

// without takes over what is removed.
func (v *verification) without(gone *removed) {
	v.cut, v.bodies = gone.links(), gone.bodies
	if n := len(gone.cuts); n > 0 {
		t := gone.cuts[n-1]
		v.report.Truncated = &Truncated{Seq: t.Seq, Time: t.Time, Why: t.why}
	}
	if v.bodies.Seq > 0 {
		v.report.BodiesGone = &Truncated{Seq: v.bodies.Seq, Time: gone.body.Time, Why: gone.body.why}
	}
}

// beginning says for which links at the beginning there was no checkpoint when
// they were written.
func (v *verification) beginning(j *judged) {
	if len(j.entries) == 0 {
		message := "there is no checkpoint file, so nothing can be proved: a copy of it or of its last entry is needed"
		if j.foreign > 0 {
			message = fmt.Sprintf("no checkpoint can be verified: they are signed with the key %s, whose verifier is not known", j.stranger)
		}
		v.report.add(Finding{Verdict: VerdictUnclear, Where: j.file, Message: message})
		return
	}
	first := j.entries[0]
	if first.Seq <= v.cut.Seq || first.kind == entryBegan && first.Seq == 0 {
		return
	}
	message := "the beginning of the checkpoint file is missing"
	switch {
	case j.foreign > 0:
		message = fmt.Sprintf("%s cannot be verified: they are signed with the key %s, which is lost or not known; with its verifier they can be", plural(j.foreign, "older checkpoint", "older checkpoints"), j.stranger)
	case first.kind == entryBegan:
		message = "there was no checkpoint file before " + stamp(first.Time)
	}
	v.report.add(Finding{
		Verdict: VerdictUnclear, From: v.cut.Seq + 1, To: first.Seq, Where: fmt.Sprintf("%s line %d", j.file, first.line),
		Message: message + ": nobody vouches that these links were not changed before " + stamp(first.Time),
	})
}

// adoptCopy takes over the anchors of a copy of the checkpoint file.
func (v *verification) adoptCopy(path string, keys []string) error {
	s, err := readSheet(path)
	if err != nil {
		return err
	}
	j, err := judge(s, path, keys)
	if err != nil {
		return err
	}
	for _, t := range j.entries {
		if t.anchors() {
			v.anchors = append(v.anchors, anchor{t.Checkpoint, fmt.Sprintf("%s line %d", j.file, t.line)})
		}
	}
	for _, f := range j.findings {
		v.report.add(f)
	}
	if len(j.entries) == 0 {
		v.report.add(Finding{Verdict: VerdictUnclear, Where: path, Message: "no known key has signed an entry of it"})
	}
	return nil
}

// run checks the links, and then the bodies: what a link names that was read
// before was there before.
func (v *verification) run(ctx context.Context) error {
	if err := v.links(ctx); err != nil {
		return err
	}
	if err := v.checkBodies(ctx); err != nil {
		return err
	}
	i, ok := v.store.(Inspector)
	if !ok {
		return nil
	}
	err := i.Inspect(ctx, func(where, what string) {
		v.report.add(Finding{Verdict: VerdictDamaged, Where: where, Message: what + ": what is recorded may not be what lists and searches show"})
	}, v.meter.set)
	if err != nil {
		return v.unreadable(ctx, 0, err)
	}
	return nil
}

// unreadable makes a finding of an error of the store, unless ctx ended.
func (v *verification) unreadable(ctx context.Context, after uint64, err error) error {
	if ctx.Err() != nil {
		return durward.Errorf(durward.Unavailable, verifyOp, "interrupted: %w", context.Cause(ctx))
	}
	verdict := VerdictUnclear
	if errors.Is(err, ErrDamaged) {
		verdict = VerdictDamaged
	}
	v.report.add(Finding{Verdict: verdict, From: after, To: after, Where: "the store", Message: "it cannot be read: " + err.Error()})
	return nil
}
