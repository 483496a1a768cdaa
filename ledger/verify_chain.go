package ledger

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"durward"
)

// chain checks one link after the other.
type chain struct {
	last Link // the one before; of a truncation only Seq and Hash are known
}

// check returns what is wrong with the link that comes next, "" if nothing is.
// Whatever it is, the one after it is checked against this one.
func (c *chain) check(l Link, records []Record) (missing uint64, wrong string) {
	before := c.last
	switch {
	case l.Seq <= before.Seq:
		return 0, "it comes after link " + strconv.FormatUint(before.Seq, 10) + ": links were moved or copied"
	case l == (Link{Seq: l.Seq}):
		return 0, plural(len(records), "record names", "records name") + " a link that is not there" + describe(records)
	}
	c.last = l
	if l.Seq != before.Seq+1 {
		missing = l.Seq - before.Seq - 1
		before = Link{Seq: l.Seq - 1} // what it follows is not known
	}
	again := before.Next(l.At, records)
	switch {
	case len(records) != l.Records:
		return missing, fmt.Sprintf("it covers %s, but there are %d: records were removed or put in%s", plural(l.Records, "record", "records"), len(records), describe(records))
	case again.Digest != l.Digest:
		return missing, "its records are not those that were written: one was changed, replaced or moved" + describe(records)
	case missing == 0 && !l.Follows(&before):
		return missing, "it does not follow from link " + strconv.FormatUint(before.Seq, 10) + " as it stands there: one of the two was changed"
	}
	return missing, ""
}

// describedMost bounds the records that a finding names.
const describedMost = 5

// describe names records: the unreadable ones, else the first ones.
func describe(records []Record) string {
	var bad, names []string
	for _, r := range records {
		if d, ok := r.(*Damaged); ok && len(bad) < describedMost {
			bad = append(bad, d.Of.String()+" ("+d.Reason+")")
		}
		if len(names) < describedMost {
			names = append(names, nameOf(r))
		}
	}
	if len(bad) > 0 {
		return "; damaged: " + strings.Join(bad, ", ")
	}
	if len(names) == 0 {
		return ""
	}
	if more := len(records) - len(names); more > 0 {
		names = append(names, strconv.Itoa(more)+" more")
	}
	return "; there are: " + strings.Join(names, ", ")
}

// nameOf says which record it is.
func nameOf(r Record) string {
	switch r := r.(type) {
	case *Intent:
		return "intent of call " + string(r.ID)
	case *Outcome:
		return "outcome of call " + string(r.Call)
	case *SessionStart:
		return "start of session " + string(r.ID)
	case *SessionEnd:
		return "end of session " + string(r.ID)
	case *Decision:
		return "decision on call " + string(r.Call)
	case *Approval:
		return "approval " + r.ID
	default:
		return r.Kind().String()
	}
}

// String names the kind.
func (k Kind) String() string {
	names := [...]string{"", "intent", "outcome", "session start", "session end", "decision", "approval", "change", "http request", "event", "note"}
	if int(k) < len(names) && k > 0 {
		return names[k]
	}
	return "record of unknown kind " + strconv.Itoa(int(k))
}

// linkWalk is the state of checking all links.
type linkWalk struct {
	*verification
	chain  chain
	begin  uint64 // the first link that is there
	pairs  *pairs
	next   int    // of anchors
	good   uint64 // the last link at which an anchor agreed
	wrong  *Finding
	tail   Unanchored
	judged time.Time // of the last link of the tail that was there when the check began

	gaps     int // places where checkpoints are missing
	firstGap Finding
}

// links walks through all links.
func (v *verification) links(ctx context.Context) error {
	w := &linkWalk{verification: v, chain: chain{last: v.cut.link()}, pairs: newPairs(v.cut), good: v.cut.Seq}
	v.report.From = v.cut.Seq + 1
	for w.next < len(v.anchors) && v.anchors[w.next].Seq <= v.cut.Seq {
		w.atCut(&v.anchors[w.next])
		w.next++
	}
	err := v.store.Links(ctx, 0, w.first)
	if errors.Is(err, errEnough) {
		v.meter.of = v.expected(ctx, max(w.begin, v.cut.Seq+1))
		err = v.store.Links(ctx, v.cut.Seq+1, w.link)
	}
	if err != nil {
		if err := v.unreadable(ctx, w.chain.last.Seq+1, err); err != nil {
			return err
		}
		w.flush()
		return nil
	}
	w.finish()
	return nil
}

// first looks at the first link that is there.
func (w *linkWalk) first(l Link, _ []Record) error {
	w.begin = l.Seq
	if l.Seq <= w.cut.Seq {
		w.report.add(Finding{Verdict: VerdictOK, From: l.Seq, To: w.cut.Seq, Message: "these were to be removed and are still there: pruning was interrupted, and goes on by itself or with durward ledger prune"})
	}
	return errEnough
}

// atCut compares an anchor with the truncation at its link.
func (w *linkWalk) atCut(a *anchor) {
	if a.Seq == w.cut.Seq && a.Seq > 0 && a.Hash != w.cut.Hash {
		w.report.add(Finding{Verdict: VerdictDamaged, From: a.Seq, To: a.Seq, Where: a.where, Message: "its hash is not the one that the truncation after it names: the ledger was damaged when it was pruned"})
	}
}

func (w *linkWalk) link(l Link, records []Record) error {
	r := w.report
	missing, wrong := w.chain.check(l, records)
	if missing > 0 {
		r.add(Finding{Verdict: VerdictDamaged, From: l.Seq - missing, To: l.Seq - 1, Message: plural(int(missing), "link is", "links are") + " missing"}) //nolint:gosec // for people
	}
	if wrong != "" {
		r.add(Finding{Verdict: VerdictDamaged, From: l.Seq, To: l.Seq, Message: wrong})
	}
	r.Links++
	r.Records += int64(len(records))
	r.To = max(r.To, l.Seq)
	w.compare(l)
	w.unanchored(l, len(records))
	for _, rec := range records {
		if found := w.pairs.record(rec); found != "" {
			r.add(Finding{Verdict: VerdictDamaged, From: l.Seq, To: l.Seq, Where: nameOf(rec), Message: found})
		}
		if d := bodyOf(rec); d != (Digest{}) && l.Seq > w.bodies.Seq {
			w.refs.add(d, l.Seq)
		}
	}
	w.meter.add(1)
	return nil
}

// bodyOf returns the digest of the body that a record names.
func bodyOf(r Record) Digest {
	switch r := r.(type) {
	case *Intent:
		return r.Body
	case *Outcome:
		return r.Body
	default:
		return Digest{}
	}
}

// compare holds a link against the anchors up to it. Anchors that do not agree
// are one finding, as long as no other lies between.
func (w *linkWalk) compare(l Link) {
	for ; w.next < len(w.anchors) && w.anchors[w.next].Seq <= l.Seq; w.next++ {
		a := &w.anchors[w.next]
		switch {
		case a.Seq == 0:
		case a.Seq < l.Seq: // that link is missing, which is a finding of its own
		case a.Hash == l.Hash && l != Link{Seq: l.Seq}:
			w.flush()
			w.gap(a, l.At)
			w.good, w.tail = a.Seq, Unanchored{}
			w.judged = time.Time{}
			w.report.Anchored = &Anchored{Seq: a.Seq, Time: a.Time}
		case w.wrong == nil:
			w.wrong = &Finding{
				Verdict: VerdictDamaged, From: w.good + 1, To: a.Seq, Where: a.where,
				Message: "link " + strconv.FormatUint(a.Seq, 10) + " is not the one that was signed at " + stamp(a.Time) + ": the chain was computed anew, or is another one",
			}
		default:
			w.wrong.To = a.Seq
		}
	}
}

// gap notes when checkpoints are missing before one, more than thinning out takes.
func (w *linkWalk) gap(a *anchor, until time.Time) {
	if w.tail.Links == 0 {
		return
	}
	most := tailMost
	switch age := w.anchors[len(w.anchors)-1].Time.Sub(a.Time); {
	case age > thinDaily-time.Hour:
		most += 24 * time.Hour
	case age > thinHourly-time.Hour:
		most += time.Hour
	}
	if until.Sub(w.tail.Since) <= most {
		return
	}
	if w.gaps++; w.gaps == 1 {
		w.firstGap = Finding{
			Verdict: VerdictOK, From: w.good + 1, To: a.Seq, Where: a.where,
			Message: fmt.Sprintf("records made from %s to %s were signed only at %s: checkpoints could not be written, or were removed", stamp(w.tail.Since), stamp(until), stamp(a.Time)),
		}
	}
}

// reportGaps reports the first gap, and how many there are.
func (w *linkWalk) reportGaps() {
	if w.gaps == 0 {
		return
	}
	if w.gaps > 1 {
		w.firstGap.Message += fmt.Sprintf("; that is so at %d places", w.gaps)
	}
	w.report.add(w.firstGap)
}

// flush reports anchors that do not agree.
func (w *linkWalk) flush() {
	if w.wrong != nil {
		w.report.add(*w.wrong)
		w.wrong = nil
	}
}

// unanchored counts a link that may turn out to be behind the last anchor.
func (w *linkWalk) unanchored(l Link, records int) {
	if w.good >= l.Seq {
		return
	}
	if w.tail.Links == 0 {
		w.tail.Since = l.At
	}
	w.tail.Links++
	w.tail.Records += int64(records)
	w.tail.Until = l.At
	if !l.At.After(w.began) {
		w.judged = l.At
	}
}

// finish judges what is behind the last link.
func (w *linkWalk) finish() {
	w.flush()
	w.reportGaps()
	w.report.Open = int64(len(w.pairs.open))
	if w.pairs.lost {
		w.report.add(Finding{Verdict: VerdictOK, Message: "too many calls are open to tell whether intents and outcomes belong together"})
	}
	last := w.chain.last.Seq
	var gone *anchor
	for ; w.next < len(w.anchors); w.next++ {
		gone = &w.anchors[w.next]
	}
	if gone != nil {
		w.report.add(Finding{
			Verdict: VerdictDamaged, From: last + 1, To: gone.Seq, Where: gone.where,
			Message: "the ledger ends at link " + strconv.FormatUint(last, 10) + ", but link " + strconv.FormatUint(gone.Seq, 10) + " was signed at " + stamp(gone.Time) + ": the end was removed",
		})
	}
	if w.tail.Links == 0 {
		return
	}
	tail := w.tail
	w.report.Unanchored = &tail
	if len(w.anchors) > 0 && w.judged.Sub(tail.Since) > tailMost {
		w.report.add(Finding{
			Verdict: VerdictUnclear, From: w.good + 1, To: last,
			Message: fmt.Sprintf("records were made from %s to %s without a checkpoint, though one is due every minute: checkpoints could not be written, or the end of their file was cut off", stamp(tail.Since), stamp(w.judged)),
		})
	}
}

// pairsMost bounds the calls that are open at a time while the ledger is walked.
const pairsMost = 1 << 20

// pairs checks that each outcome belongs to one intent before it.
type pairs struct {
	cut  Checkpoint
	open map[durward.CallID]struct{}
	lost bool // there were too many
}

func newPairs(cut Checkpoint) *pairs {
	return &pairs{cut: cut, open: map[durward.CallID]struct{}{}}
}

func (p *pairs) record(r Record) (wrong string) {
	if p.lost {
		return ""
	}
	switch r := r.(type) {
	case *Intent:
		if _, twice := p.open[r.ID]; twice {
			return "there are two intents of this call"
		}
		if len(p.open) >= pairsMost {
			p.lost = true
			clear(p.open)
			return ""
		}
		p.open[r.ID] = struct{}{}
	case *Outcome:
		if _, ok := p.open[r.Call]; !ok && !p.pruned(r.Call) {
			return "there is no open intent of this call before it"
		}
		delete(p.open, r.Call)
	}
	return ""
}

// pruned says whether the intent of a call can have been pruned: a call identifier
// begins with the milliseconds of its time.
func (p *pairs) pruned(id durward.CallID) bool {
	if p.cut.Seq == 0 {
		return false
	}
	text := strings.Replace(string(id), "-", "", 1)
	if len(text) < 12 {
		return true
	}
	ms, err := strconv.ParseInt(text[:12], 16, 64)
	return err != nil || ms <= p.cut.Time.UnixMilli()
}
