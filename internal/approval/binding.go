package approval

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"durward"
	"durward/internal/wire"
)

// Binding is to what an answer is bound. A call with another value in any of these
// is another question.
type Binding struct {
	Principal string
	Rules     []string // that asked, each with its layer; sorted
	Method    string
	Server    string // empty: Durward itself
	Tool      string // the server's own name of the tool or prompt, or the URI of a resource
	Pin       string // SHA-256, in hex, of the tool's definition; empty for what is no tool
	// Arguments is the SHA-256, in hex, of the arguments in their canonical form
	// (wire.AppendCanonical), as the server would get them; with patterns, without
	// the values that these match.
	Arguments string
}

func bindingOf(call *durward.Call, q *durward.Question, arguments []byte) Binding {
	b := Binding{
		Principal: call.Caller.Principal, Rules: slices.Sorted(slices.Values(q.Rules)),
		Method: call.Method, Server: call.Server, Tool: call.Name, Arguments: digest(arguments),
	}
	if call.Tool != nil {
		b.Pin = call.Tool.Hash
	}
	return b
}

// digest names arguments however they are spelled. None at all are not the same as
// none in particular ({}): a server may tell them apart.
func digest(arguments []byte) string {
	var canonical []byte
	if arguments != nil {
		canonical = wire.AppendCanonical(nil, arguments)
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:])
}

// argumentsOf returns what a person is asked about: the arguments of a tool or
// prompt, or else the parameters without what belongs to the protocol. params are
// those that would be sent.
func argumentsOf(method string, params []byte) []byte {
	switch {
	case params == nil:
		return nil
	case method == "tools/call" || method == "prompts/get":
		return wire.Get(params, "arguments")
	default:
		return wire.AppendObject(nil, params, func(name string) bool { return name == "_meta" })
	}
}

// sent are the parameters that the server would get.
func sent(call *durward.Call, d *durward.Decision) []byte {
	if d.Changed != nil {
		return d.Changed
	}
	return call.Params
}
