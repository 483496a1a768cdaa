package worker

import (
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"durward"
)

// contentOf returns the body as the server meant it, with its compression taken off.
func (r *remote) contentOf(resp *http.Response) (io.Reader, error) {
	switch encoding := resp.Header.Get("Content-Encoding"); strings.ToLower(encoding) {
	case "", "identity":
		return resp.Body, nil
	case "gzip", "x-gzip":
		return &gunzip{src: resp.Body}, nil
	default:
		return nil, durward.Errorf(durward.Invalid, "", "its answer has the content encoding %q, but only gzip was asked for", scrubbed([]byte(encoding)))
	}
}

var gzipReaders = sync.Pool{New: func() any { return new(gzip.Reader) }}

// gunzip decompresses as it is read; the header is read with the first byte
// wanted, so that a stream which says nothing yet blocks nobody before that.
type gunzip struct {
	src io.Reader
	z   *gzip.Reader
}

func (g *gunzip) Read(b []byte) (int, error) {
	if g.z == nil {
		z := gzipReaders.Get().(*gzip.Reader)
		if err := z.Reset(g.src); err != nil {
			gzipReaders.Put(z)
			return 0, err
		}
		g.z = z
	}
	n, err := g.z.Read(b)
	if err != nil {
		gzipReaders.Put(g.z)
		g.z, g.src = nil, failed{err}
	}
	return n, err
}

// failed is a source that ended.
type failed struct{ err error }

func (f failed) Read([]byte) (int, error) { return 0, f.err }

// readBody reads one whole message of at most r.limit bytes, after decompression.
func (r *remote) readBody(resp *http.Response) ([]byte, error) {
	src, err := r.contentOf(resp)
	if err != nil {
		return nil, err
	}
	if resp.ContentLength > int64(r.limit) {
		return nil, r.tooLong()
	}
	if plain := src == io.Reader(resp.Body); plain && resp.ContentLength >= 0 {
		body := make([]byte, resp.ContentLength)
		_, err := io.ReadFull(src, body)
		return body, err
	}
	var g gather
	for {
		n, err := src.Read(g.room())
		g.grew(n)
		switch {
		case g.size > r.limit:
			return nil, r.tooLong()
		case errors.Is(err, io.EOF):
			return g.take(), nil
		case err != nil:
			return nil, err
		}
	}
}

func (r *remote) tooLong() error {
	return durward.Errorf(durward.Invalid, "", "its answer is over the limit of %d bytes for one message (limits.message)", r.limit)
}

// failureTime bounds the reading of a body that only explains a failure.
const (
	failureTime = 5 * time.Second
	failureBody = 4 << 10 // bytes of one that is no message
)

// readFailure reads the body of a response that is no success: the whole of it
// when it may be a message, else its beginning, to be shown.
func (r *remote) readFailure(resp *http.Response) []byte {
	guard := time.AfterFunc(failureTime, func() { _ = resp.Body.Close() }) // ends the read
	defer guard.Stop()
	if isJSON(resp.Header) {
		body, _ := r.readBody(resp)
		return body
	}
	src, err := r.contentOf(resp)
	if err != nil {
		return nil
	}
	body, _ := io.ReadAll(io.LimitReader(src, failureBody))
	return body
}

// A connection is used again only if its response was read to the end.
const (
	drainTime  = 500 * time.Millisecond
	drainBytes = 4 << 10
)

// discard ends a response: it gives the connection back if little is left to read, else closes it.
func discard(resp *http.Response) {
	guard := time.AfterFunc(drainTime, func() { _ = resp.Body.Close() }) // ends the read
	_, _ = io.CopyN(io.Discard, resp.Body, drainBytes)                   // of no interest
	guard.Stop()
	_ = resp.Body.Close() // nothing can be done about it
}

// mediaType returns the type without parameters, in lower case.
func mediaType(header http.Header) string {
	value, _, _ := strings.Cut(header.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(value))
}

// isJSON takes an answer without a type for JSON, which it mostly is.
func isJSON(header http.Header) bool {
	media := mediaType(header)
	return media == "application/json" || media == "" || strings.HasSuffix(media, "+json")
}

func isStream(header http.Header) bool { return mediaType(header) == "text/event-stream" }
