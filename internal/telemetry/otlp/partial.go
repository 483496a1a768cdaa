package otlp

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// refusedSome is an answer of a collector that took only a part of what it was sent. That
// is not to be sent again (OTLP 1.x, Partial Success).
type refusedSome struct {
	n      int64
	reason string
}

// Error says how much it did not take, and what it says of that.
func (e *refusedSome) Error() string {
	return fmt.Sprintf("the collector did not take %d of those that it was sent at once%s", e.n, e.reason)
}

// refusedOf is how many of n a collector did not take, by the error of sending them.
func refusedOf(err error, n int64) int64 {
	var some *refusedSome
	switch {
	case err == nil:
		return 0
	case errors.As(err, &some):
		return min(some.n, n)
	default:
		return n
	}
}

// partial reads how much a collector did not take. The answers for all signals are alike:
// field 1 is the partial success, of which field 1 is the number and field 2 the reason.
// What cannot be read says nothing.
func partial(h http.Header, answer []byte) (some refusedSome) {
	if !strings.HasPrefix(h.Get("Content-Type"), "application/x-protobuf") {
		return some
	}
	eachField(answer, func(number protowire.Number, inner []byte, _ uint64) {
		if number == 1 {
			eachField(inner, func(number protowire.Number, text []byte, n uint64) {
				switch number {
				case 1:
					some.n = max(0, int64(n)) //nolint:gosec // it is an int64 that is sent so
				case 2:
					some.reason = words(text)
				default:
				}
			})
		}
	})
	return some
}

// eachField calls f for the fields of a message that are bytes or numbers, up to what is none.
func eachField(b []byte, f func(number protowire.Number, text []byte, n uint64)) {
	for len(b) > 0 {
		number, kind, size := protowire.ConsumeTag(b)
		if size < 0 {
			return
		}
		value := b[size:]
		if size = protowire.ConsumeFieldValue(number, kind, value); size < 0 {
			return
		}
		switch kind {
		case protowire.BytesType:
			text, _ := protowire.ConsumeBytes(value)
			f(number, text, 0)
		case protowire.VarintType:
			n, _ := protowire.ConsumeVarint(value)
			f(number, nil, n)
		default:
		}
		b = value[size:]
	}
}
