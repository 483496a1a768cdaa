package ledger

import (
	"crypto/sha256"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Bounds of what is kept in memory for bodies.
const (
	knownMost = 64 << 10 // digests that are known to be stored
	heldMost  = 64 << 20 // bytes of bodies that wait for a store which takes nothing
)

// bodies cuts, compresses and deduplicates what is longer than a preview.
type bodies struct {
	keep bool
	most int
	zip  *zstd.Encoder // EncodeAll is safe for concurrent use

	mu    sync.Mutex // guards known
	known map[Digest]struct{}
}

func newBodies(opt Options) *bodies {
	// The options are valid, so there is no error; nothing is written through it.
	zip, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(2), zstd.WithLowerEncoderMem(true))
	return &bodies{keep: opt.Bodies, most: opt.BodyMost, zip: zip, known: map[Digest]struct{}{}}
}

// of returns the preview of a redacted content, and the body if the preview is
// not all of it. A body that is known to be stored comes without its data.
func (b *bodies) of(content []byte) (preview string, body *Body) {
	preview = cut(content, PreviewMost)
	if len(content) <= PreviewMost && len(preview) == len(content) || !b.keep {
		return preview, nil
	}
	body = &Body{Digest: sha256.Sum256(content), Original: len(content)}
	if b.knows(body.Digest) {
		return preview, body
	}
	if len(content) > b.most {
		content, body.Truncated = content[:b.most], true
	}
	body.Encoding, body.Data = "zstd", b.zip.EncodeAll(content, nil)
	return preview, body
}

func (b *bodies) knows(d Digest) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, ok := b.known[d]
	return ok
}

// fresh returns those bodies that may have to be stored, each once.
func (b *bodies) fresh(all []Body) []Body {
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
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range done {
		if len(b.known) >= knownMost { // any will do: what is forgotten is only compressed again
			for d := range b.known {
				delete(b.known, d)
				break
			}
		}
		b.known[done[i].Digest] = struct{}{}
	}
}

// forget is called when bodies were removed from the store.
func (b *bodies) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.known)
}

// bounded returns the bodies of the records that wait for a store which takes
// nothing, as far as memory is set aside for them.
func (b *bodies) bounded(all []Body, records []Record) []Body {
	wanted := map[Digest]bool{}
	for _, r := range records {
		if o, ok := r.(*Outcome); ok && o.Body != (Digest{}) {
			wanted[o.Body] = true
		}
	}
	var kept []Body
	size := 0
	for i := range all {
		if wanted[all[i].Digest] && size+len(all[i].Data) <= heldMost {
			size += len(all[i].Data)
			kept = append(kept, all[i])
		}
	}
	return kept
}
