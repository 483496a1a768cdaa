package storetest

import (
	"crypto/sha256"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"durward"
	"durward/ledger"
)

// at is a time, some microseconds after a round one.
func at(micros int64) time.Time { return time.UnixMicro(1_790_000_000_000_000 + micros).UTC() }

func intent(id durward.CallID) *ledger.Intent {
	return &ledger.Intent{
		ID: id, At: at(1), Principal: "local", Entrance: durward.EntranceHTTP, Route: "/mcp", Era: "modern", Origin: ledger.OriginMCP,
		Transport: durward.TransportStdio, Server: "files", Method: "tools/call", Tool: "read", FullName: "files__read", RequestID: "1",
		Preview: `{"name":"files__read"}`,
	}
}

func outcome(id durward.CallID) *ledger.Outcome {
	return &ledger.Outcome{Call: id, At: at(2), Status: durward.StatusOK, Duration: 1500 * time.Microsecond, Attempts: 1, BytesOut: 2, Preview: "{}"}
}

func packed(content string) []byte {
	zip, err := zstd.NewWriter(nil)
	if err != nil {
		panic(err) // without options there is no error
	}
	return zip.EncodeAll([]byte(content), nil)
}

// plain is a body that is not packed, which takes a while.
func plain(content string) ledger.Body {
	return ledger.Body{Digest: sha256.Sum256([]byte(content)), Original: len(content), Data: []byte(content)}
}

func body(content string) ledger.Body {
	return ledger.Body{Digest: sha256.Sum256([]byte(content)), Encoding: "zstd", Original: len(content), Data: packed(content)}
}

// texts are what ledgers give to stores at worst: any UTF-8 without the character NUL.
func texts() []string {
	return []string{
		"", " ", "17", "1e5", "NULL", "x'00'", "it's \"quoted\"; DROP TABLE intents; --", "?1 :a $b %s", "line\nand\r\nline\ttab",
		"\u0001\u001f\u007f\u0085", "\ufeffmark", "grün 錠 🗝 e\u0301", "\U0010ffff\ue000\ufffd", strings.Repeat("ü", 512), strings.Repeat("long ", 40_000),
		"0190b5f2-7a3c-7def-8123-456789abcdef",
	}
}

// ids are what identifiers may be: usually a UUID.
func ids() []string {
	return []string{
		"0190b5f2-7a3c-7def-8123-456789abcdef", "0190B5F2-7A3C-7DEF-8123-456789ABCDEF", "00000000-0000-0000-0000-000000000000",
		"ffffffff-ffff-ffff-ffff-ffffffffffff", "0190b5f27a3c7def8123456789abcdef", "0190b5f2-7a3c-7def-8123-456789abcde", "0190b5f2-7a3c-7def-8123-456789abcdeg",
		"0190b5f2_7a3c_7def_8123_456789abcdef", " 0190b5f2-7a3c-7def-8123-456789abcdef", "+190b5f2-7a3c-7def-8123-456789abcdef", "abcdefghijklmnop", "1", "session é",
		strings.Repeat("i", 3000),
	}
}

// times are what times may be: whole microseconds, or none.
func times() []time.Time {
	return []time.Time{
		{}, time.UnixMicro(0).UTC(), time.UnixMicro(1).UTC(), time.UnixMicro(-1).UTC(), at(0), at(999_999), at(1_000_000),
		time.Date(1, 1, 1, 0, 0, 0, 1000, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC),
	}
}

// of returns one of several, the one for n.
func of[T any](all []T, n int) T { return all[n%len(all)] }

// samples are batches with each kind of record, with the values above in each field.
func samples() [][]ledger.Record {
	var all [][]ledger.Record
	s, d := texts(), ids()
	for n := range 2 * len(s) {
		text := func(field int) string { return of(s, n+field) }
		id := func(field int) string { return of(d, n+field) }
		when := func(field int) time.Time { return of(times(), n+field) }
		trace, span, digest := [16]byte{byte(n)}, [8]byte{0, byte(n)}, ledger.Digest{31: byte(n)}
		number := of([]int64{0, 1, -1, math.MaxInt32, math.MaxInt64, math.MinInt64}, n)
		call := durward.NewCallID()
		if n < len(d) {
			call = durward.CallID(d[n])
		}
		all = append(all, []ledger.Record{
			&ledger.Intent{
				ID: call, Session: durward.SessionID(id(1)), Parent: durward.CallID(id(2)), TraceID: trace, SpanID: span, At: when(0),
				Principal: text(0), Entrance: durward.Entrance(text(1)), Process: text(2), Client: durward.ClientInfo{Name: text(3), Version: text(4)},
				Route: text(5), Era: text(6), Origin: ledger.Origin(text(7)), Transport: durward.Transport(text(8)), Server: text(9), Method: text(10),
				Tool: text(11), FullName: text(12), RequestID: text(13), Risk: durward.Risk(n % 256), Action: durward.Action(n % 256),
				Rule: text(14), Layer: text(15), Reason: text(16), BytesIn: int(number), Preview: text(17), Body: digest,
			},
			&ledger.Outcome{
				Call: call, At: when(1), Dispatched: when(2), Duration: time.Duration(number/1000) * time.Microsecond, Status: durward.Status(text(0)),
				Attempts: int(number), BytesOut: int(number), Error: text(1), Preview: text(2), Body: digest,
			},
			&ledger.SessionStart{
				ID: durward.SessionID(id(0)), At: when(3), Principal: text(0), Entrance: durward.Entrance(text(1)), Process: text(2),
				Client: durward.ClientInfo{Name: text(3), Version: text(4)}, Route: text(5), Era: text(6), Sandbox: text(7), Policy: text(8),
			},
			&ledger.SessionEnd{ID: durward.SessionID(id(0)), At: when(4), Reason: text(0)},
			&ledger.Decision{
				Call: durward.CallID(id(0)), At: when(5), Stage: text(0), Layer: text(1), Rule: text(2), Action: text(3), Effective: text(4), Detection: text(5), Detail: text(6),
			},
			&ledger.Approval{ID: id(3), Call: durward.CallID(id(0)), At: when(6), Status: text(0), By: text(1), Reason: text(2), Scope: text(3)},
			&ledger.Change{At: when(7), Who: text(0), What: text(1), Target: text(2), OldHash: text(3), NewHash: text(4), Detail: text(5)},
			&ledger.Flow{
				Call: durward.CallID(of([]string{"", id(0)}, n)), At: when(8), Server: text(0), Method: text(1), Host: text(2), IP: text(3), Port: int(number), Path: text(4),
				Status: int(number), BytesOut: number, BytesIn: number, Decision: text(5),
			},
			&ledger.Event{At: when(0), Layer: text(0), Sandbox: text(1), Session: durward.SessionID(of([]string{"", id(0)}, n)), TraceID: trace, What: text(2), Detail: text(3)},
			&ledger.Note{At: when(1), What: text(0), Detail: text(1)},
		})
	}
	// Records in which everything is empty.
	return append(all, []ledger.Record{
		&ledger.Intent{}, &ledger.Outcome{}, &ledger.SessionStart{}, &ledger.SessionEnd{}, &ledger.Decision{}, &ledger.Approval{},
		&ledger.Change{}, &ledger.Flow{}, &ledger.Event{}, &ledger.Note{},
	}, nil)
}

// anyText draws what a ledger may give to a store.
func anyText(t *rapid.T, label string) string {
	s := rapid.OneOf(rapid.SampledFrom([]string{"", "a", "local", "tools/call"}), rapid.StringN(0, 40, 200)).Draw(t, label)
	if !utf8.ValidString(s) {
		return ""
	}
	return strings.ReplaceAll(s, "\x00", "")
}

// anyRecord draws a record that needs no other.
func anyRecord(t *rapid.T, call durward.CallID) ledger.Record {
	text := func() string { return anyText(t, "text") }
	when := time.UnixMicro(rapid.Int64Range(-1<<50, 1<<52).Draw(t, "at")).UTC()
	switch rapid.IntRange(0, 6).Draw(t, "kind") {
	case 0:
		return &ledger.SessionStart{ID: durward.SessionID(text()), At: when, Principal: text(), Client: durward.ClientInfo{Name: text()}, Policy: text()}
	case 1:
		return &ledger.SessionEnd{ID: durward.SessionID(text()), At: when, Reason: text()}
	case 2:
		return &ledger.Decision{Call: call, At: when, Stage: text(), Rule: text(), Detail: text()}
	case 3:
		return &ledger.Approval{ID: text(), Call: call, At: when, Status: text()}
	case 4:
		return &ledger.Flow{Call: call, At: when, Host: text(), Port: rapid.Int().Draw(t, "port"), BytesIn: rapid.Int64().Draw(t, "in")}
	case 5:
		return &ledger.Event{At: when, Layer: text(), Sandbox: text(), What: text(), Detail: text()}
	default:
		return &ledger.Note{At: when, What: text(), Detail: text()}
	}
}
