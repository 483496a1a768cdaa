package ledger

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"hash/maphash"
	"io"
	"slices"
	"strings"

	"durward"
)

// refs are the bodies that records name. Each is kept as 8 bytes of a hash that
// nobody can foresee, and the first link that names it.
type refs struct {
	seed   maphash.Seed
	list   []ref
	sorted int // of list, how many are sorted and different
}

type ref struct {
	print uint64
	seq   uint64
	found bool
}

func newRefs() *refs { return &refs{seed: maphash.MakeSeed()} }

func (r *refs) print(d Digest) uint64 { return maphash.Bytes(r.seed, d[:]) }

func (r *refs) add(d Digest, seq uint64) {
	r.list = append(r.list, ref{print: r.print(d), seq: seq})
	if len(r.list) >= 2*r.sorted+4096 {
		r.sort()
	}
}

// sort makes each body occur once, with the first link that names it.
func (r *refs) sort() {
	slices.SortFunc(r.list, func(a, b ref) int {
		return cmp.Or(cmp.Compare(a.print, b.print), cmp.Compare(a.seq, b.seq))
	})
	r.list = slices.CompactFunc(r.list, func(a, b ref) bool { return a.print == b.print })
	r.sorted = len(r.list)
}

// find marks a body as found and says whether a record names it. The list must be sorted.
func (r *refs) find(d Digest) bool {
	i, ok := slices.BinarySearchFunc(r.list, r.print(d), func(e ref, print uint64) int { return cmp.Compare(e.print, print) })
	if ok {
		r.list[i].found = true
	}
	return ok
}

// checkBodies reads all bodies, and looks for those that are not there.
func (v *verification) checkBodies(ctx context.Context) error {
	v.refs.sort()
	v.meter.of = max(v.meter.of, v.meter.done) + int64(len(v.refs.list))
	err := v.store.Bodies(ctx, func(info BodyInfo, content io.Reader) error {
		v.report.Bodies++
		v.refs.find(info.Digest)
		v.meter.add(1)
		return v.body(ctx, info, content)
	})
	if err != nil {
		return v.unreadable(ctx, 0, err)
	}
	return v.missingBodies(ctx)
}

// body checks one body.
func (v *verification) body(ctx context.Context, info BodyInfo, content io.Reader) error {
	w := &bodyHash{ctx: ctx, hash: sha256.New()}
	_, err := io.Copy(w, io.LimitReader(content, int64(info.Original)+cutMarkerMost)) // what is longer is not what was recorded
	if ctx.Err() != nil {
		return ctx.Err()
	}
	wrong := ""
	switch {
	case err != nil:
		wrong = "it cannot be read: " + err.Error()
	case w.sum() != info.Digest:
		wrong = "its content is not the one that was recorded"
	case !info.Truncated && int64(info.Original) != w.size:
		wrong = fmt.Sprintf("it is said to have %d bytes, and has %d", info.Original, w.size)
	case info.Truncated && !w.cutFrom(info.Original):
		wrong = fmt.Sprintf("it is said to be cut from %d bytes, and does not say so itself", info.Original)
	}
	if wrong != "" {
		v.report.add(Finding{Verdict: VerdictDamaged, Where: fmt.Sprintf("body %x", info.Digest), Message: wrong})
	}
	return nil
}

// cutMarkerMost is longer than any marker of a body that was cut.
const cutMarkerMost = 256

// bodyHash takes a content, until ctx ends, and keeps what is needed to check it.
type bodyHash struct {
	ctx  context.Context //nolint:containedctx // a few bytes can unpack to what takes days to read
	hash hash.Hash
	size int64
	end  []byte // the last cutMarkerMost bytes
}

func (w *bodyHash) Write(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	w.size += int64(len(p))
	if len(p) >= cutMarkerMost {
		w.end = append(w.end[:0], p[len(p)-cutMarkerMost:]...)
	} else {
		w.end = append(w.end, p...)
		w.end = w.end[max(0, len(w.end)-cutMarkerMost):]
	}
	return w.hash.Write(p)
}

func (w *bodyHash) sum() (d Digest) {
	w.hash.Sum(d[:0])
	return d
}

// cutFrom says whether the content ends with the marker of one of so many bytes.
func (w *bodyHash) cutFrom(original int) bool {
	marker := cutMarker(original, Digest{})
	_, after, _ := strings.Cut(marker, "SHA-256 ")
	before, _, _ := strings.Cut(marker, strings.Repeat("0", 2*len(Digest{})))
	end := string(w.end)
	return len(end) >= len(marker) && strings.HasPrefix(end[len(end)-len(marker):], before) && strings.HasSuffix(end, after[2*len(Digest{}):])
}

// missingMost bounds the bodies that are looked up by name.
const missingMost = 20

// missingBodies reports bodies that records name and that are not there.
func (v *verification) missingBodies(ctx context.Context) error {
	var missing []ref
	for _, r := range v.refs.list {
		if !r.found {
			missing = append(missing, r)
		}
	}
	slices.SortFunc(missing, func(a, b ref) int { return cmp.Compare(a.seq, b.seq) })
	for i, r := range missing {
		where := ""
		if i < missingMost {
			var err error
			if where, err = v.whoNames(ctx, r); err != nil {
				return v.unreadable(ctx, r.seq, err)
			}
		}
		v.report.add(Finding{Verdict: VerdictDamaged, From: r.seq, To: r.seq, Where: where, Message: "a body that is named here is not there"})
	}
	return nil
}

// whoNames says which record of a link names a body.
func (v *verification) whoNames(ctx context.Context, r ref) (where string, err error) {
	err = v.store.Links(ctx, r.seq, func(l Link, records []Record) error {
		for _, rec := range records {
			if d := bodyOf(rec); l.Seq == r.seq && d != (Digest{}) && v.refs.print(d) == r.print {
				where = fmt.Sprintf("%s, body %x", nameOf(rec), d)
			}
		}
		return errEnough
	})
	if err != nil && !errors.Is(err, errEnough) {
		return "", durward.Errorf(durward.KindOf(err), verifyOp, "%w", err)
	}
	return where, nil
}
