package ledger

import (
	"crypto/sha256"
	"fmt"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
)

// Bounds of what is kept in memory for bodies.
const (
	knownMost = 64 << 10 // digests that are known to be stored
	heldMost  = 64 << 20 // bytes of bodies that wait for a store which takes nothing

	// knownFor is how long a body that was stored counts as known. The record that
	// named it is no older then, and nothing younger than [pruneYoung] is pruned: so
	// no body is taken for stored that is being removed.
	knownFor = time.Minute
)

// bodies cuts, compresses and deduplicates what is longer than a preview.
type bodies struct {
	keep bool
	most int
	zip  *zstd.Encoder // EncodeAll is safe for concurrent use

	mu    sync.Mutex           // guards known
	known map[Digest]time.Time // when it was stored
}

func newBodies(opt Options) *bodies {
	// The options are valid, so there is no error; nothing is written through it.
	zip, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(2), zstd.WithLowerEncoderMem(true))
	return &bodies{keep: opt.Bodies, most: opt.BodyMost, zip: zip, known: map[Digest]time.Time{}}
}

// of returns the preview of a redacted content, and the body if the preview is
// not all of it. A body that is known to be stored comes without its data.
func (b *bodies) of(content []byte) (preview string, body *Body) {
	preview = cut(content, PreviewMost)
	if preview == string(content) || !b.keep {
		return preview, nil
	}
	body = &Body{Original: len(content)}
	if len(content) > b.most {
		content, body.Truncated = cutBody(content, b.most), true
	}
	if body.Digest = sha256.Sum256(content); b.knows(body.Digest) {
		return preview, body
	}
	body.Encoding, body.Data = "zstd", b.zip.EncodeAll(content, nil)
	return preview, body
}

// cutBody returns the beginning of a content that is too long, with the marker
// behind it: at most so many bytes in all, or the marker alone.
func cutBody(content []byte, most int) []byte {
	marker := cutMarker(len(content), sha256.Sum256(content))
	kept := cut(content, max(0, most-len(marker)))
	return append([]byte(kept), marker...)
}

// cutMarker is what a body that was cut ends with. It is part of what the digest
// covers, so that neither the cut nor what was cut off can be changed afterwards.
func cutMarker(original int, all Digest) string {
	return fmt.Sprintf("\n[cut by durward: %d bytes in all, SHA-256 %x]\n", original, all)
}

func (b *bodies) knows(d Digest) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	at, ok := b.known[d]
	return ok && time.Since(at) < knownFor
}

// fresh returns those bodies that may have to be stored, each once.
func (b *bodies) fresh(all []Body) []Body {
	if len(all) == 0 {
		return nil
	}
	var fresh []Body
	seen := map[Digest]bool{}
	for i := range all {
		if all[i].Data != nil && !seen[all[i].Digest] {
			seen[all[i].Digest] = true
			fresh = append(fresh, all[i])
		}
	}
	return fresh
}

// stored notes what the store has now.
func (b *bodies) stored(done []Body) {
	if len(done) == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	for i := range done {
		if len(b.known) >= knownMost { // any will do: what is forgotten is only compressed again
			for d := range b.known {
				delete(b.known, d)
				break
			}
		}
		b.known[done[i].Digest] = now
	}
}

// bounded returns the bodies of the records that wait for a store which takes
// nothing, as far as memory is set aside for them. In place of records whose body is
// given up are others that do not name it: what a record names can be shown.
func (b *bodies) bounded(all []Body, records []Record) []Body {
	wanted := map[Digest][]int{} // indices of outcomes
	for i, r := range records {
		if d := bodyOf(r); d != (Digest{}) {
			wanted[d] = append(wanted[d], i)
		}
	}
	var kept []Body
	size := 0
	for i := range all {
		outcomes := wanted[all[i].Digest]
		if len(outcomes) == 0 {
			continue
		}
		delete(wanted, all[i].Digest) // once is enough
		if size+len(all[i].Data) <= heldMost {
			size += len(all[i].Data)
			kept = append(kept, all[i])
			continue
		}
		for _, n := range outcomes {
			if o, ok := records[n].(*Outcome); ok { // the store may have it as it is
				bare := *o
				bare.Body, records[n] = Digest{}, &bare
			}
		}
	}
	return kept
}
