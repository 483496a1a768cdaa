package ledger

import (
	"fmt"
	"io"
	"strings"
	"time"

	"durward"
)

// Verdict is what a check of the ledger comes to.
type Verdict string

// The verdicts, from good to bad.
const (
	// VerdictOK: up to the last checkpoint the ledger is what was written. What came
	// after it follows from it, and could have been replaced.
	VerdictOK Verdict = "ok"
	// VerdictUnclear: nothing contradicts, but for a part of the ledger there is
	// nothing that could: checkpoints or keys are missing, or it cannot be read now.
	VerdictUnclear Verdict = "cannot say"
	// VerdictDamaged: something was changed, removed, put in or moved.
	VerdictDamaged Verdict = "damaged"
)

// worse returns the worse one of two verdicts.
func (v Verdict) worse(other Verdict) Verdict {
	rank := func(v Verdict) int {
		switch v {
		case VerdictDamaged:
			return 2
		case VerdictUnclear:
			return 1
		default:
			return 0
		}
	}
	if rank(other) > rank(v) {
		return other
	}
	return v
}

// Finding is one thing that a check found.
type Finding struct {
	Verdict Verdict `json:"verdict"`         // what it makes of the whole; ok: only good to know
	From    uint64  `json:"from,omitempty"`  // links that are concerned, both included; 0: none
	To      uint64  `json:"to,omitempty"`    //
	Where   string  `json:"where,omitempty"` // record, body, or file and line, as far as that can be told
	Message string  `json:"message"`
}

// findingsMost bounds the findings of a report; the first ones are kept.
const findingsMost = 100

// Report is what [Verify] found.
type Report struct {
	Verdict  Verdict   `json:"verdict"`
	Findings []Finding `json:"findings"`
	More     int       `json:"more,omitempty"` // findings that are left out

	From    uint64 `json:"from"` // first and last link that were looked at
	To      uint64 `json:"to"`
	Links   int64  `json:"links"`
	Records int64  `json:"records"`
	Bodies  int64  `json:"bodies"`
	Open    int64  `json:"open"` // calls without an outcome: under way, or left by a crash

	Checkpoints int         `json:"checkpoints"`          // that known keys signed
	Keys        []string    `json:"keys"`                 // verifiers of those keys
	Anchored    *Anchored   `json:"anchored,omitempty"`   // nil: no checkpoint agrees with the ledger
	Unanchored  *Unanchored `json:"unanchored,omitempty"` // nil: there is nothing after the last checkpoint
	Truncated   *Truncated  `json:"truncated,omitempty"`  // nil: nothing was removed for its age or size
	BodiesGone  *Truncated  `json:"bodies_gone,omitempty"`
	Elapsed     float64     `json:"elapsed_seconds"`
}

// Anchored is the last checkpoint that agrees with the ledger.
type Anchored struct {
	Seq  uint64    `json:"seq"`
	Time time.Time `json:"time"`
}

// Unanchored is what came after the last checkpoint.
type Unanchored struct {
	Links   int64     `json:"links"`
	Records int64     `json:"records"`
	Since   time.Time `json:"since"` // of the first
	Until   time.Time `json:"until"` // of the last
}

// Truncated says up to where something was removed, on record.
type Truncated struct {
	Seq  uint64    `json:"seq"`
	Time time.Time `json:"time"`
	Why  string    `json:"why"`
}

func (r *Report) add(f Finding) {
	r.Verdict = r.Verdict.worse(f.Verdict)
	if len(r.Findings) < findingsMost {
		r.Findings = append(r.Findings, f)
		return
	}
	r.More++
	if f.Verdict != VerdictDamaged { // damage makes room for itself
		return
	}
	for i := range r.Findings {
		if r.Findings[i].Verdict != VerdictDamaged {
			r.Findings[i] = f
			return
		}
	}
}

// Err returns nil if the ledger is what was written, an error of kind Conflict if
// it is damaged, and one of kind Unknown if that cannot be said: what the command
// line makes its exit status of.
func (r *Report) Err() error {
	kind := durward.Conflict
	switch r.Verdict {
	case VerdictOK:
		return nil
	case VerdictUnclear:
		kind = durward.Unknown
	case VerdictDamaged:
	}
	for _, f := range r.Findings {
		if f.Verdict == r.Verdict {
			return durward.Errorf(kind, "ledger", "%s: %s", r.Verdict, f.text())
		}
	}
	return durward.Errorf(kind, "ledger", "%s", r.Verdict)
}

func (f *Finding) text() string {
	var b strings.Builder
	switch {
	case f.From != 0 && f.From == f.To:
		fmt.Fprintf(&b, "link %d: ", f.From)
	case f.From != 0 || f.To != 0:
		fmt.Fprintf(&b, "links %d to %d: ", f.From, f.To)
	}
	if f.Where != "" {
		b.WriteString(f.Where + ": ")
	}
	return b.String() + f.Message
}

// WriteText writes the report for people.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", r.Verdict)
	fmt.Fprintf(&b, "  links %d to %d: %d links, %d records, %d bodies, %d calls open\n", r.From, r.To, r.Links, r.Records, r.Bodies, r.Open)
	if a := r.Anchored; a != nil {
		fmt.Fprintf(&b, "  proved up to link %d, signed at %s (%d checkpoints)\n", a.Seq, stamp(a.Time), r.Checkpoints)
	} else {
		fmt.Fprintf(&b, "  nothing is proved: no checkpoint agrees with the ledger (%d are signed by a known key)\n", r.Checkpoints)
	}
	if u := r.Unanchored; u != nil {
		fmt.Fprintf(&b, "  not proved yet: %d records in %d links since %s\n", u.Records, u.Links, stamp(u.Since))
	}
	if t := r.Truncated; t != nil {
		fmt.Fprintf(&b, "  removed up to link %d at %s: %s\n", t.Seq, stamp(t.Time), t.Why)
	}
	if t := r.BodiesGone; t != nil {
		fmt.Fprintf(&b, "  bodies removed up to link %d at %s: %s\n", t.Seq, stamp(t.Time), t.Why)
	}
	for _, k := range r.Keys {
		fmt.Fprintf(&b, "  key %s\n", k)
	}
	for i := range r.Findings {
		mark := r.Findings[i].Verdict
		if mark == VerdictOK {
			mark = "note"
		}
		fmt.Fprintf(&b, "%s: %s\n", mark, r.Findings[i].text())
	}
	if r.More > 0 {
		fmt.Fprintf(&b, "and %d more\n", r.More)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
