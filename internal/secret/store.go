package secret

import (
	"strings"

	"durward"
)

// Store gives the secrets that ${secret:NAME} names. It is declared here for
// those who read secrets; whoever keeps them implements it. It is safe for
// concurrent use.
type Store interface {
	// Lookup returns the secret called name, which [CheckName] accepts. An error
	// of kind NotFound means that no such secret is stored; one of kind
	// Unavailable that the store cannot be read now, and why.
	Lookup(name string) (Value, error)
}

// maxName bounds the name of a secret, in bytes.
const maxName = 128

const nameBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

// CheckName says why name cannot name a secret; nil if it can: 1 to 128 letters,
// digits, dots, hyphens and underscores, and no dot in front.
func CheckName(name string) error {
	if name == "" || len(name) > maxName || name[0] == '.' || strings.Trim(name, nameBytes) != "" {
		return durward.Errorf(durward.Invalid, "secret", "the name of a secret is 1 to %d letters, digits, dots, hyphens and underscores, and does not begin with a dot", maxName)
	}
	return nil
}

// Missing is the error for a secret that is not stored; it says how to set it.
func Missing(name string) error {
	return durward.Errorf(durward.NotFound, "", "the secret %s is not stored; set it with: durward secret set %s", name, name)
}
