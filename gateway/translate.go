package gateway

import (
	"strconv"

	"durward"
	"durward/internal/exchange"
	"durward/internal/wire"
)

// translate brings a server's reply into the era of the caller. Within an era
// the bytes stay as they are.
func (g *Gateway) translate(p *passage, reply exchange.Reply) exchange.Reply {
	caller := p.in.Client.Era
	switch {
	case reply.Era == wire.EraUnknown:
		return reply // the gateway's own
	case caller == wire.Modern && reply.Error == nil:
		return g.sealTask(p, toModern(p, reply))
	case caller == wire.Modern:
		return modernError(reply)
	case reply.Era == wire.Modern && reply.Error == nil:
		return toLegacy(reply)
	case reply.Era == wire.Modern:
		return legacyError(reply)
	default:
		return g.sealTask(p, reply)
	}
}

// toModern gives a legacy result its type and checks that the caller declared
// the extension of a type that is not of the core (2026-07-28, basic/index "ResultType").
func toModern(p *passage, reply exchange.Reply) exchange.Reply {
	switch reply.ResultType {
	case "complete", "input_required":
		return reply
	case "":
		reply.ResultType = "complete"
		reply.Result = wire.SetResultMember(nil, reply.Result, wire.Member{Name: "resultType", Value: []byte(`"complete"`)})
		return reply
	}
	extension := "its extension"
	if reply.ResultType == "task" {
		extension = tasksExtension
	}
	if declares(p.in.Client.Capabilities, reply.ResultType) {
		return reply
	}
	return exchange.Fail(&wire.CodeError{
		Code: wire.CodeMissingCapability, Message: "the server answered with resultType " + reply.ResultType + ", for which the client did not declare " + extension,
		Data: []byte(`{"requiredCapabilities":{"extensions":{` + wire.Quote(extension) + `:{}}}}`),
	})
}

const tasksExtension = "io.modelcontextprotocol/tasks"

// declares reports whether a client's capabilities admit a result type: for task
// the tasks extension, for one we do not know any extension at all.
func declares(capabilities []byte, resultType string) bool {
	extensions := wire.Get(capabilities, "extensions")
	if resultType == "task" {
		return wire.Lookup(extensions, tasksExtension).Present()
	}
	for range wire.Members(extensions) {
		return true
	}
	return false
}

// toLegacy takes the type off a complete result. Other types mean nothing to a
// legacy client, and half a result must not look like a whole one.
func toLegacy(reply exchange.Reply) exchange.Reply {
	switch reply.ResultType {
	case "":
		return reply
	case "complete":
		reply.Result = wire.RemoveResultMember(nil, reply.Result, "resultType")
		reply.ResultType = ""
		return reply
	case "input_required":
		return exchange.Fail(durward.Errorf(durward.Unavailable, "", "the server needs input from the user, which cannot be asked for between these two protocol eras"))
	default:
		return exchange.Fail(durward.Errorf(durward.Unavailable, "", "the server answered with resultType %s, which a legacy client cannot read", reply.ResultType))
	}
}

// modernError replaces the code that modern servers must not send.
func modernError(reply exchange.Reply) exchange.Reply {
	if code, _ := wire.ErrorCode(reply.Error); code == wire.CodeResourceNotFound {
		reply.Error = recode(reply.Error, wire.CodeInvalidParams)
	}
	return reply
}

// legacyError replaces the codes that only modern clients know.
func legacyError(reply exchange.Reply) exchange.Reply {
	switch code, _ := wire.ErrorCode(reply.Error); code {
	case wire.CodeHeaderMismatch, wire.CodeMissingCapability, wire.CodeUnsupportedVersion:
		reply.Error = recode(reply.Error, wire.CodeInternal)
	}
	return reply
}

func recode(failure []byte, code int) []byte {
	digits := strconv.AppendInt(nil, int64(code), 10)
	return wire.Splice(nil, failure, wire.Edit{At: wire.Lookup(failure, "code"), With: digits})
}
