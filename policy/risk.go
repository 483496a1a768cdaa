package policy

import (
	"durward"
	"durward/internal/wire"
)

// riskOf is the risk of a tool: what the operator says, or else its server's floor, raised by what the tool says of
// itself, and lowered for a tool that only reads where that is believed. A tool that
// says it destroys does, whatever else it says; idempotentHint and titles never
// matter; what is missing or unknown never lowers the floor.
func riskOf(t *durward.Tool, believed bool) durward.Risk {
	if t.Set != durward.RiskUnset {
		return t.Set
	}
	floor := t.Floor
	if floor == durward.RiskUnset {
		floor = durward.RiskHigh
	}
	reads := hint(t.Annotations, "readOnlyHint")
	switch {
	case hint(t.Annotations, "destructiveHint"):
		return durward.RiskCritical
	case reads && believed:
		return min(floor, durward.RiskLow)
	case reads:
		return floor
	case hint(t.Annotations, "openWorldHint"):
		return min(floor+1, durward.RiskCritical)
	default:
		return floor
	}
}

// hint reports whether an annotation is certainly true.
func hint(annotations []byte, name string) bool {
	return string(wire.Get(annotations, name)) == "true"
}

// hasTool reports whether a method's name is that of a tool.
func hasTool(method string) bool { return method == wire.MethodToolsCall }
