package exchange

import "durward/internal/wire"

// Missing returns the capability that a requester did not declare and would have
// to for being asked this, such as "sampling" or "elicitation.url"; "" when
// nothing is missing. Of methods it does not know nothing is demanded: the
// requester says itself that it does not know an extension (2025-11-25,
// basic/lifecycle "Capability Negotiation"; 2026-07-28, basic/patterns/mrtr).
func Missing(capabilities []byte, method string, params []byte) string {
	var name string
	switch method {
	case wire.MethodElicit:
		name = "elicitation"
	case wire.MethodSampling:
		name = "sampling"
	case wire.MethodRootsList:
		name = "roots"
	default:
		return ""
	}
	capability := wire.Get(capabilities, name)
	if len(capability) == 0 || capability[0] != '{' {
		return name
	}
	switch {
	case method == wire.MethodElicit:
		return missingMode(capability, params)
	case method == wire.MethodSampling && wire.Get(params, "tools") != nil && wire.Get(capability, "tools") == nil:
		return "sampling.tools"
	}
	return ""
}

// missingMode: no mode is form, and a capability that names no mode means form.
func missingMode(capability, params []byte) string {
	mode, ok := wire.Unquote(wire.Get(params, "mode"))
	if !ok {
		mode = "form"
	}
	if wire.Get(capability, mode) != nil || mode == "form" && wire.Get(capability, "url") == nil {
		return ""
	}
	return "elicitation." + mode[:min(len(mode), 100)]
}

// Askable reports whether a requester declared that it can be asked anything.
func Askable(capabilities []byte) bool {
	for name, at := range wire.Members(capabilities) {
		switch name {
		case "elicitation", "sampling", "roots":
			if value := at.Of(capabilities); len(value) > 0 && value[0] == '{' {
				return true
			}
		}
	}
	return false
}

// NotDeclared refuses a question that a requester did not declare to answer. The
// code is invalid params, but for roots, where the specification wants method not
// found (2025-11-25, client/roots "Error Handling"): servers hand it on as the
// error of the call during which they asked, and "method not found" is not true
// of that.
func NotDeclared(capability string) error {
	code := wire.CodeInvalidParams
	if capability == "roots" {
		code = wire.CodeMethodNotFound
	}
	return &wire.CodeError{Code: code, Message: "the client did not declare the capability " + capability}
}
