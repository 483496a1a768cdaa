// Command hostile is a plugin that does what its payload says, and should not.
package main

import (
	"encoding/json"
	"net"
	"os"
	"strings"
	"time"
	"unsafe"
)

var (
	input, output []byte
	hoard         [][]byte
	seen          int
)

func main() {}

//go:wasmexport durward_abi
func abi() uint32 { return 1 }

//go:wasmexport durward_alloc
func alloc(size uint32) uint32 {
	input = make([]byte, max(size, 1))
	return uint32(uintptr(unsafe.Pointer(&input[0])))
}

//go:wasmexport durward_run
func run(_, size uint32) uint64 {
	seen++
	output = act(input[:size])
	if len(output) == 0 {
		return 0
	}
	if string(output) == "outside" {
		return 0xFFFF0000<<32 | 1024
	}
	return uint64(uintptr(unsafe.Pointer(&output[0])))<<32 | uint64(len(output))
}

func act(in []byte) []byte {
	var r struct {
		Payload struct {
			Arguments struct {
				Do string `json:"do"`
			} `json:"arguments"`
		} `json:"payload"`
	}
	if err := json.Unmarshal(in, &r); err != nil {
		return []byte(`{"action":"block"}`)
	}
	switch do := r.Payload.Arguments.Do; do {
	case "loop":
		for {
			seen++
		}
	case "sleep":
		time.Sleep(time.Hour)
	case "memory":
		for {
			hoard = append(hoard, make([]byte, 8<<20))
		}
	case "panic":
		panic("as told")
	case "exit":
		os.Exit(3)
	case "much":
		return []byte(`{"reason":"` + strings.Repeat("x", 17<<20) + `"}`)
	case "nothing", "outside":
		if do == "nothing" {
			return nil
		}
		return []byte(do)
	case "reach":
		return reach()
	case "remember":
		return []byte(`{"findings":[{"kind":"seen-` + strings.Repeat("i", seen) + `"}]}`)
	default:
		return []byte(do)
	}
	return []byte("{}")
}

// reach tries to get at what a plugin must not have.
func reach() []byte {
	var got []string
	for _, file := range []string{"/etc/passwd", "/", ".", "/proc/self/environ"} {
		if _, err := os.ReadFile(file); err == nil {
			got = append(got, "file")
		}
		if _, err := os.ReadDir(file); err == nil {
			got = append(got, "folder")
		}
	}
	if os.WriteFile("out", []byte("x"), 0o600) == nil {
		got = append(got, "write")
	}
	if len(os.Environ()) > 0 {
		got = append(got, "env")
	}
	if len(os.Args) > 1 {
		got = append(got, "args")
	}
	if time.Now().Unix() != 1767225600 {
		got = append(got, "clock")
	}
	if c, err := net.DialTimeout("tcp", "127.0.0.1:80", time.Second); err == nil {
		c.Close()
		got = append(got, "net")
	}
	answer := map[string]any{"reason": "got " + strings.Join(got, ","), "action": "block"}
	out, _ := json.Marshal(answer)
	return out
}
