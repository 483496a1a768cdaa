// Command codenames is an example of a plugin: it keeps the names of projects
// that are not public from leaving. Build it with
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o codenames.wasm .
//
// and name it in durward.yaml:
//
//	policy:
//	  plugins:
//	    codenames: { mode: redact, wasm: codenames.wasm }
package main

import (
	"bytes"
	"encoding/json"
	"unsafe"
)

// names are what must not leave.
var names = []string{"Project Nightingale", "Operation Kestrel"}

// input and output stay reachable until the next call, as the caller reads and
// writes them from outside.
var input, output []byte

type request struct {
	ABI     int             `json:"abi"`
	Stage   string          `json:"stage"` // preprocess or postprocess
	Server  string          `json:"server"`
	Name    string          `json:"name"`
	Payload json.RawMessage `json:"payload"` // the params or the result
}

type finding struct {
	Kind string `json:"kind"`
}

type answer struct {
	Action   string          `json:"action,omitempty"`
	Reason   string          `json:"reason,omitempty"`
	Findings []finding       `json:"findings,omitempty"`
	Labels   []string        `json:"labels,omitempty"`
	Payload  json.RawMessage `json:"payload,omitempty"`
}

func main() {} // a library has no use for it

//go:wasmexport durward_abi
func abi() uint32 { return 1 }

//go:wasmexport durward_alloc
func alloc(size uint32) uint32 {
	input = make([]byte, max(size, 1))
	return uint32(uintptr(unsafe.Pointer(&input[0])))
}

//go:wasmexport durward_run
func run(_, size uint32) uint64 {
	output = look(input[:size])
	return uint64(uintptr(unsafe.Pointer(&output[0])))<<32 | uint64(len(output))
}

func look(in []byte) []byte {
	var r request
	if err := json.Unmarshal(in, &r); err != nil {
		return []byte(`{"action":"block","reason":"the request was not understood"}`)
	}
	var a answer
	payload := []byte(r.Payload)
	for _, name := range names {
		for range bytes.Count(payload, []byte(name)) {
			a.Findings = append(a.Findings, finding{Kind: "codename"})
		}
		payload = bytes.ReplaceAll(payload, []byte(name), []byte("[codename]"))
	}
	if len(a.Findings) > 0 {
		a.Payload, a.Labels = payload, []string{"codenames"}
	}
	out, err := json.Marshal(a)
	if err != nil {
		return []byte(`{"action":"block"}`)
	}
	return out
}
