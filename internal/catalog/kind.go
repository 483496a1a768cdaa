package catalog

import "durward/internal/wire"

// Kind is what an item is.
type Kind uint8

// The kinds of items, one per list method.
const (
	Tool Kind = iota
	Prompt
	Resource
	Template
	kinds = 4
)

// kindInfo is how a kind looks on the wire.
type kindInfo struct {
	method string // that lists it
	member string // of the list result
	key    string // member of an item that identifies it
	word   string // in messages
}

func (k Kind) info() kindInfo {
	switch k {
	case Tool:
		return kindInfo{wire.MethodToolsList, "tools", "name", "tool"}
	case Prompt:
		return kindInfo{wire.MethodPromptsList, "prompts", "name", "prompt"}
	case Resource:
		return kindInfo{wire.MethodResourcesList, "resources", "uri", "resource"}
	default:
		return kindInfo{wire.MethodTemplatesList, "resourceTemplates", "uriTemplate", "resource template"}
	}
}

// String returns "tool", "prompt", "resource" or "resource template".
func (k Kind) String() string { return k.info().word }

func kindOf(method string) (Kind, bool) {
	switch method {
	case wire.MethodToolsList:
		return Tool, true
	case wire.MethodPromptsList:
		return Prompt, true
	case wire.MethodResourcesList:
		return Resource, true
	case wire.MethodTemplatesList:
		return Template, true
	default:
		return 0, false
	}
}
