package ledger_test

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"durward"
	"durward/ledger"
)

// kinds are one record of each kind.
func kinds() []ledger.Record {
	return []ledger.Record{
		&ledger.Intent{}, &ledger.Outcome{}, &ledger.SessionStart{}, &ledger.SessionEnd{}, &ledger.Decision{}, &ledger.Approval{},
		&ledger.Change{}, &ledger.Flow{}, &ledger.Event{}, &ledger.Note{},
	}
}

// fillAny gives each field a random value, as far as a store keeps it: times and
// durations in whole microseconds.
func fillAny(r *rapid.T, v reflect.Value) {
	switch v.Interface().(type) {
	case time.Time:
		if rapid.Bool().Draw(r, "a time") {
			v.Set(reflect.ValueOf(time.UnixMicro(rapid.Int64Range(-1<<55, 1<<55).Draw(r, "time")).UTC()))
		}
		return
	case time.Duration:
		v.SetInt(rapid.Int64Range(-1<<50, 1<<50).Draw(r, "duration") * int64(time.Microsecond))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(string(rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(r, "text")))
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.Int64().Draw(r, "number"))
	case reflect.Uint8:
		v.SetUint(uint64(rapid.Byte().Draw(r, "byte")))
	case reflect.Array:
		for i := range v.Len() {
			fillAny(r, v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fillAny(r, v.Field(i))
		}
	default:
		r.Fatalf("a field of type %s", v.Type())
	}
}

func anyBatch(r *rapid.T) *ledger.Batch {
	before := ledger.Link{Seq: rapid.Uint64Range(0, 1<<62).Draw(r, "seq")}
	b := &ledger.Batch{}
	for range rapid.IntRange(0, 5).Draw(r, "records") {
		record := rapid.SampledFrom(kinds()).Draw(r, "kind")
		fillAny(r, reflect.ValueOf(record).Elem())
		b.Records = append(b.Records, record)
	}
	for range rapid.IntRange(0, 3).Draw(r, "bodies") {
		body := ledger.Body{
			Encoding: rapid.SampledFrom([]string{"", "zstd", "other"}).Draw(r, "encoding"), Original: rapid.Int().Draw(r, "original"),
			Truncated: rapid.Bool().Draw(r, "truncated"), Data: rapid.SliceOfN(rapid.Byte(), 0, 3000).Draw(r, "data"),
		}
		body.Digest[0] = rapid.Byte().Draw(r, "digest")
		b.Bodies = append(b.Bodies, body)
	}
	b.Link = before.Next(time.UnixMicro(rapid.Int64Range(1, 1<<52).Draw(r, "at")), b.Records)
	return b
}

// alike compares batches by all that anybody sees of them.
func alike(a, b *ledger.Batch) string {
	return cmp.Diff(a, b, cmpopts.IgnoreUnexported(ledger.Batch{}), cmpopts.EquateEmpty())
}

func TestBatchesAreReadAsTheyWereWritten(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		b := anyBatch(r)
		before := []byte("before")
		data := b.AppendTo(before)
		if !bytes.HasPrefix(data, before) {
			r.Fatal("it was not appended")
		}
		data = data[len(before):]
		got, err := ledger.DecodeBatch(data)
		if err != nil {
			r.Fatal(err)
		}
		if diff := alike(b, got); diff != "" {
			r.Fatalf("(-written +read):\n%s", diff)
		}
		for i := range b.Records {
			if ledger.DigestOf(b.Records[i]) != ledger.DigestOf(got.Records[i]) {
				r.Fatalf("record %d has another digest", i)
			}
		}
		clear(data) // nothing of it is kept
		if diff := alike(b, got); diff != "" {
			r.Fatalf("what was read is part of what it was read from:\n%s", diff)
		}
	})
}

// What is not all of a batch is none, and what the link does not cover neither.
func TestPartsOfBatchesAreNone(t *testing.T) {
	records := append(kinds(), &ledger.Note{What: "n", Detail: "d"})
	b := &ledger.Batch{
		Records: records, Bodies: []ledger.Body{{Original: 3, Data: []byte("abc")}}, Link: (&ledger.Link{}).Next(time.UnixMicro(1), records),
	}
	data := b.AppendTo(nil)
	if _, err := ledger.DecodeBatch(data); err != nil {
		t.Fatal(err)
	}
	for n := range data {
		if may := ledger.MayBeBatch(data[:n]); n < 70 && may || n > 80 && !may {
			t.Fatalf("%d of %d bytes may be a batch: %v", n, len(data), may)
		}
		if _, err := ledger.DecodeBatch(data[:n]); err == nil {
			t.Fatalf("%d of %d bytes are a batch", n, len(data))
		}
	}
	if _, err := ledger.DecodeBatch(append(data, 0)); err == nil {
		t.Error("there may be something behind a batch")
	}
	other := *b
	other.Records = append(kinds(), &ledger.Note{What: "n", Detail: "e"})
	if _, err := ledger.DecodeBatch(other.AppendTo(nil)); err == nil {
		t.Error("a record was changed, and the link covers it")
	}
}

// decodeMost bounds the memory that a batch takes, in bytes for each byte of its form: a
// record of nothing but empty texts is the worst.
const decodeMost = 64

func FuzzDecodeBatch(f *testing.F) {
	records := kinds()
	link := (&ledger.Link{}).Next(time.UnixMicro(1), records)
	f.Add((&ledger.Batch{Records: records, Link: link, Bodies: []ledger.Body{{Encoding: "zstd", Data: []byte("x")}}}).AppendTo(nil))
	records = []ledger.Record{
		&ledger.Intent{ID: durward.CallID("a"), At: time.UnixMicro(5), Preview: "p", Risk: 3}, &ledger.Outcome{Call: "a", Duration: time.Second, Status: durward.StatusOK},
	}
	f.Add((&ledger.Batch{Records: records, Link: link.Next(time.UnixMicro(2), records)}).AppendTo(nil))
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte{0xff}, 100))
	f.Add(append(bytes.Repeat([]byte{0}, 66), bytes.Repeat([]byte{10}, 100)...))
	f.Fuzz(func(t *testing.T, data []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		b, err := ledger.DecodeBatch(data)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > uint64(decodeMost*len(data)+1<<20) {
			t.Fatalf("%d bytes took %d bytes of memory", len(data), took)
		}
		if err != nil {
			return
		}
		again, err := ledger.DecodeBatch(b.AppendTo(nil))
		if err != nil {
			t.Fatal(err)
		}
		if diff := alike(b, again); diff != "" {
			t.Fatal(diff)
		}
	})
}

// Many small records take memory in proportion to their forms.
func TestSmallBatchesTakeLittleMemory(t *testing.T) {
	for _, record := range kinds() {
		records := make([]ledger.Record, 20_000)
		for i := range records {
			records[i] = record
		}
		data := (&ledger.Batch{Records: records, Link: (&ledger.Link{}).Next(time.UnixMicro(1), records)}).AppendTo(nil)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := ledger.DecodeBatch(data); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		took := after.TotalAlloc - before.TotalAlloc
		if took > uint64(decodeMost*len(data)) {
			t.Errorf("%T: %d bytes take %d bytes of memory", record, len(data), took)
		}
	}
}

// Of bytes that are no batch hardly any may be one.
func TestMayBeBatch(t *testing.T) {
	data := make([]byte, 1<<20)
	rand.NewChaCha8([32]byte{1}).Read(data)
	some := 0
	for at := range len(data) - 1000 {
		if ledger.MayBeBatch(data[at : at+1000]) {
			some++
		}
	}
	if part := len(data) / max(some, 1); part < 100 {
		t.Errorf("one of %d", part)
	}
}
