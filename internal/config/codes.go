package config

import "durward/internal/yamlx"

// Codes of what goes beyond a single value. What each means, and what to do, is
// in faults.
const (
	codeConflict  yamlx.Code = "E_CONFLICT"  // two keys that exclude each other, or one that needs another
	codeReference yamlx.Code = "E_REFERENCE" // ${…} that cannot be replaced
	codeForbidden yamlx.Code = "E_FORBIDDEN" // what the configuration may not say
	codeLocked    yamlx.Code = "E_LOCKED"    // a key that the corp layer keeps for itself
	codeOwner     yamlx.Code = "E_OWNER"     // a corp layer that is not certainly root's
)
