package wire

import (
	"errors"
	"strconv"

	"durward"
)

// JSON-RPC and MCP error codes (JSON-RPC 2.0 §5.1; 2026-07-28, basic/index).
const (
	CodeParse              = -32700
	CodeInvalidRequest     = -32600
	CodeMethodNotFound     = -32601
	CodeInvalidParams      = -32602
	CodeInternal           = -32603
	CodeResourceNotFound   = -32002 // legacy only; modern servers say CodeInvalidParams
	CodeHeaderMismatch     = -32020
	CodeMissingCapability  = -32021
	CodeUnsupportedVersion = -32022
)

// Durward's own codes lie outside of the range JSON-RPC reserves.
const (
	CodeRefused         = 40301 // by a rule
	CodeDeniedByPerson  = 40302
	CodeApprovalTimeout = 40303
	CodeRateLimited     = 40304
	CodeUnavailable     = 50301 // the server cannot serve now; nothing was executed
	CodeTimeout         = 50401 // a deadline passed
	CodeUnknownOutcome  = 50402 // it may or may not have been executed
)

// CodeError is an error with a JSON-RPC code of its own.
type CodeError struct {
	Code    int
	Message string
	Data    []byte // raw JSON; nil when there is none
}

func (e *CodeError) Error() string { return e.Message + " (" + strconv.Itoa(e.Code) + ")" }

// CodeOf maps an error to its JSON-RPC code: the one place where kinds become codes.
func CodeOf(err error) int {
	var coded *CodeError
	if errors.As(err, &coded) {
		return coded.Code
	}
	switch durward.KindOf(err) {
	case durward.Invalid, durward.NotFound:
		return CodeInvalidParams
	case durward.Denied, durward.Unauthenticated:
		return CodeRefused
	case durward.Conflict, durward.Unavailable:
		return CodeUnavailable
	case durward.Timeout:
		return CodeTimeout
	case durward.Unknown:
		return CodeUnknownOutcome
	default:
		return CodeInternal
	}
}

// ErrorObject renders err as a raw JSON-RPC error object.
func ErrorObject(err error) []byte {
	var coded *CodeError
	if errors.As(err, &coded) {
		return AppendError(nil, coded.Code, coded.Message, coded.Data)
	}
	return AppendError(nil, CodeOf(err), err.Error(), nil)
}

// AppendError appends a JSON-RPC error object; nil data is left out.
func AppendError(dst []byte, code int, message string, data []byte) []byte {
	dst = append(dst, `{"code":`...)
	dst = strconv.AppendInt(dst, int64(code), 10)
	dst = append(dst, `,"message":`...)
	dst = AppendQuote(dst, message)
	if data != nil {
		dst = append(dst, `,"data":`...)
		dst = append(dst, data...)
	}
	return append(dst, '}')
}

// ErrorCode reads the code of a raw error object; false if it has none.
func ErrorCode(failure []byte) (int, bool) {
	n, err := strconv.Atoi(string(Get(failure, "code")))
	return n, err == nil
}
