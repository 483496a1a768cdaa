package sqlite

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"hash"
	"io"

	"github.com/klauspost/compress/zstd"

	"durward"
	"durward/ledger"
)

// bodyWindow bounds the memory that reading one body takes besides its stored bytes.
const bodyWindow = 16 << 20

// Body returns the content of a body, decompressed as it is read. At its end the reader
// returns an error, in place of [io.EOF], when it is not what its digest says. Errors:
// NotFound when there is no such body, or not any more (ledger.keep).
func (r *Reader) Body(ctx context.Context, d ledger.Digest) (io.ReadCloser, ledger.BodyInfo, error) {
	info := ledger.BodyInfo{Digest: d}
	var data []byte
	found := false
	err := r.view(ctx, func(v *view) error {
		return v.each(bodySQL, func(row []value) error {
			c := cells{row: row}
			info.Encoding, info.Original, info.Stored, info.Truncated = c.text(), int(c.number()), int(c.number()), c.number() != 0
			data, _ = c.next().([]byte)
			found = true
			if c.bad {
				return fmt.Errorf("the body %x cannot be read: %w", d, errDamaged)
			}
			return nil
		}, d[:])
	})
	if err != nil {
		return nil, info, err
	}
	if !found {
		return nil, info, durward.Errorf(durward.NotFound, "ledger", "there is no body %x; it may have been pruned (ledger.keep)", d)
	}
	content, err := openBody(data, info.Encoding)
	if err != nil {
		return nil, info, err
	}
	return &checkedBody{content, sha256.New(), d}, info, nil
}

// bodySQL reads one body:
//
//	SEARCH b USING INDEX sqlite_autoindex_bodies_1 (digest=?)
//	SEARCH d USING INTEGER PRIMARY KEY (rowid=?)
const bodySQL = "SELECT b.encoding, b.original, b.stored, b.truncated, d.data FROM bodies b CROSS JOIN body_data d ON d.id = b.id WHERE b.digest = ?"

// openBody returns what a stored body was made of.
func openBody(data []byte, encoding string) (io.ReadCloser, error) {
	switch encoding {
	case "":
		return io.NopCloser(bytes.NewReader(data)), nil
	case "zstd":
		d, err := zstd.NewReader(bytes.NewReader(data), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(bodyWindow))
		if err != nil {
			return nil, durward.Errorf(durward.Unavailable, "ledger", "a body cannot be decompressed: %w", err)
		}
		return d.IOReadCloser(), nil
	default:
		return nil, durward.Errorf(durward.Unavailable, "ledger", "a body has the encoding %.32q, which this version cannot read", encoding)
	}
}

// checkedBody holds a content against its digest while it is read.
type checkedBody struct {
	io.ReadCloser
	sum  hash.Hash
	want ledger.Digest
}

func (b *checkedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.sum.Write(p[:n])
	switch {
	case err == nil:
		return n, nil
	case err != io.EOF:
		return n, fmt.Errorf("the body %x is damaged: %w", b.want, err)
	case ledger.Digest(b.sum.Sum(nil)) != b.want:
		return n, durward.Errorf(durward.Unavailable, "ledger", "the body %x is damaged: its content is not what was recorded; see: durward ledger verify", b.want)
	}
	return n, io.EOF
}
