package wire_test

import (
	"bytes"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"durward/internal/wire"
)

// hostileInputs are messages made to cost more than their size: with a scan that
// is quadratic in anything the tests on them would not end.
func hostileInputs() map[string][]byte {
	arguments := func(value []byte) []byte {
		return bytes.Join([][]byte{[]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":`), value, []byte(`}}`)}, nil)
	}
	repeated := func(n int, part string) []byte {
		return arguments([]byte("[" + strings.Repeat(part+",", n) + part + "]"))
	}
	return map[string][]byte{
		"1M members":           manyMembers(1_000_000 / scale),
		"1M escaped names":     arguments(object(1_000_000/scale, `"\u006d%d":0`)),
		"300k long names":      arguments(object(300_000/scale, `"a name that is the same for a long time until %d":0`)),
		"200k names in params": []byte(`{"jsonrpc":"2.0","id":1,"method":"x","params":` + string(object(200_000/scale, `"Vendor%d":0`)) + `}`),
		"200k names in _meta":  []byte(`{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":` + string(object(200_000/scale, `"ÄÖ%d":0`)) + `}}`),
		"100k objects of 20":   repeated(100_000/scale, `{`+strings.Join(numbered(20), ",")+`}`),
		"1M objects":           repeated(1_000_000/scale, `{"a":{}}`),
		"deep and wide":        arguments(deepAndWide()),
		"12 names of 1 MB":     arguments(alikeNames(12, 1<<20)),
		"32 MB of text":        arguments([]byte(`"` + strings.Repeat("text and ", 32<<20/9/scale) + `"`)),
		"8 MB of escapes":      arguments([]byte(`"` + strings.Repeat(`\"`, 4<<20/scale) + `"`)),
		"8 MB of surrogates":   arguments([]byte(`"` + strings.Repeat(`\ud83d\ude00`, 8<<20/12/scale) + `"`)),
		"8 MB of numbers":      repeated(4<<20/scale, `0`),
		"8 MB in one number":   arguments([]byte(strings.Repeat("9", 8<<20/scale))),
		"8 MB of white space":  arguments([]byte(strings.Repeat(" \n\t\r", 2<<20/scale) + "1")),
		"8 MB of backslashes":  arguments([]byte(`"` + strings.Repeat(`\\`, 4<<20/scale) + `"`)),
		"8 MB of ideographs":   arguments([]byte(`"` + strings.Repeat("日本語", 8<<20/9/scale) + `"`)),
	}
}

// numbered makes n members of small objects.
func numbered(n int) []string {
	var list []string
	for i := range n {
		list = append(list, `"name`+strings.Repeat("_", i)+`":1`)
	}
	return list
}

func object(n int, format string) []byte {
	b := []byte{'{'}
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, format, i)
	}
	return append(b, '}')
}

// deepAndWide nests 120 objects of 1,000 members each.
func deepAndWide() []byte {
	members := object(1000, `"m%d":0`)
	members = members[:len(members)-1]
	var b []byte
	for range 120 {
		b = append(append(b, members...), `,"next":`...)
	}
	b = append(b, '0')
	return append(b, strings.Repeat("}", 120)...)
}

// alikeNames makes n names of one length that differ in their middle only.
func alikeNames(n, size int) []byte {
	half := strings.Repeat("x", size/2)
	b := []byte{'{'}
	for i := range n {
		b = append(b, `"`+half+string(rune('a'+i))+half+`":0,`...)
	}
	b[len(b)-1] = '}'
	return b
}

func TestHostileMessages(t *testing.T) {
	for name, data := range hostileInputs() {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			var m wire.Message
			err := wire.Parse(data, wire.FromServer, &m)
			runtime.ReadMemStats(&after)
			if err != nil {
				t.Fatal(err)
			}
			// The sum of all that was ever allocated, so the peak is well below.
			if spent := after.TotalAlloc - before.TotalAlloc; spent > 10*uint64(len(data)) {
				t.Errorf("%d bytes allocated for a message of %d", spent, len(data))
			}
			for range wire.Members(m.Params.Raw) {
			}
			p := wire.AppendParams(make([]byte, 0, len(data)+100), &m.Params, &wire.Rewrite{DropMeta: wire.ProtocolKey})
			if wire.Get(m.Params.Raw, "absent") != nil || !bytes.Equal(p, m.Params.Raw) && !m.Params.Meta.Present() {
				t.Error("the message reads otherwise")
			}
		})
	}
}

// TestHostileDuplicate: the last of a million names is the first one again.
func TestHostileDuplicate(t *testing.T) {
	const n = 1_000_000 / scale
	data := bytes.Replace(manyMembers(n), fmt.Appendf(nil, `"m%d"`, n-1), []byte(`"m0"`), 1)
	var m wire.Message
	if err := wire.Parse(data, wire.FromClient, &m); err == nil || !strings.Contains(err.Error(), `"m0" stands twice`) {
		t.Error(err)
	}
	// Every second name of a server's result stands twice.
	b := []byte(`{"jsonrpc":"2.0","id":1,"result":{`)
	for i := range 200_000 {
		b = append(strconv.AppendInt(append(b, '"'), int64(i/2), 10), `":0,`...)
	}
	b = append(b[:len(b)-1], `}}`...)
	if err := wire.Parse(b, wire.FromServer, &m); err != nil || m.Faults.Duplicates != 100_000 {
		t.Error(err, m.Faults)
	}
}

// TestHostileResultEdits: many members to remove, many objects to look into.
func TestHostileResultEdits(t *testing.T) {
	result := bytes.Repeat([]byte(`,"x":1,"y":[{}]`), 500_000/scale)
	result[0] = '{'
	result = append(result, '}')
	out := wire.RemoveResultMember(nil, result, "x")
	if len(out) != len(result)-500_000/scale*len(`,"x":1`) || !bytes.HasPrefix(out, []byte(`{"y":[{}],"y"`)) {
		t.Errorf("%d bytes: %.40s", len(out), out)
	}
	out = wire.SetResultMember(nil, result, wire.Member{Name: "z", Value: []byte("0")}, wire.Member{Name: "x", Value: []byte("0")})
	if len(out) != len(result)+len(`"z":0,`) {
		t.Errorf("%d bytes: %.40s", len(out), out)
	}
	faulty := bytes.Repeat([]byte("\xff"), 8<<20)
	if got := wire.ToValidUTF8(faulty); len(got) != 3*len(faulty) {
		t.Error(len(got))
	}
}
