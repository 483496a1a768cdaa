package config

import (
	"maps"
	"regexp"
	"slices"
	"strconv"

	"durward"
	"durward/internal/seal"
	"durward/internal/secret"
	"durward/internal/yamlx"
)

// principalName is what a principal may be called.
var principalName = regexp.MustCompile(`^[a-z][a-z0-9._-]{0,63}$`)

// principalLocal is the owner of the service, whose token is generated.
const principalLocal = "local"

// Bounds of a token, in bytes: fewer can be guessed, more is refused by the entrance.
const (
	tokenShort = 16
	tokenLong  = 4096
)

// principals builds the callers that have tokens of their own. The tokens are
// known as secrets even where they are written out.
func (b *builder) principals() []Principal {
	at := yamlx.Path{"principals"}
	if Auth(b.raw.Auth) == AuthNone && len(b.raw.Principals) > 0 {
		b.layers.reportKey(codeConflict, at, "nobody is asked for a token with auth: none; remove principals, or use auth: token")
	}
	var all []Principal
	owners := map[string]string{} // of tokens
	for _, name := range slices.Sorted(maps.Keys(b.raw.Principals)) {
		here := at.In(name)
		switch {
		case name == principalLocal:
			b.layers.reportKey(yamlx.CodeValue, here, "the name %q is reserved for the owner of the service; choose another", name)
		case !principalName.MatchString(name):
			b.layers.reportKey(yamlx.CodeValue, here, "the name %q must match %s", clip(name), principalName)
		}
		token := b.token(here.In("token"), string(b.raw.Principals[name].Token))
		if other, twice := owners[token]; twice && token != "" {
			b.layers.report(codeConflict, here.In("token"), "is the token of %s too; give each principal its own", clip(other))
		}
		owners[token] = name
		all = append(all, Principal{Name: name, Token: secret.New(token)})
	}
	return all
}

// token returns a token; "" if it is none, which is reported then.
func (b *builder) token(at yamlx.Path, raw string) string {
	if !b.layers.has(at) {
		return "" // said already
	}
	token, ok := b.tryExpand(at, raw)
	if !ok {
		return ""
	}
	b.refs.remember(token)
	switch {
	case len(token) < tokenShort || len(token) > tokenLong:
		b.layers.report(yamlx.CodeRange, at, "the token has %d bytes; it needs %d to %d, for example the output of: openssl rand -hex 32", len(token), tokenShort, tokenLong)
	case !isVisible(token):
		b.layers.report(yamlx.CodeValue, at, "the token holds a space, a control character or one beyond ASCII, which cannot be sent; choose another")
	default:
		return token
	}
	return ""
}

// isVisible holds for printable ASCII without the space.
func isVisible(text string) bool {
	for _, c := range []byte(text) {
		if c <= ' ' || c >= 0x7f {
			return false
		}
	}
	return true
}

// sealKeys reads the keys. They are known as secrets even where they are written out.
func (b *builder) sealKeys() []durward.SealKey {
	at := yamlx.Path{"seal_keys"}
	if count := len(b.raw.SealKeys); b.layers.has(at) && (count == 0 || count > seal.MaxKeys) {
		b.layers.report(yamlx.CodeRange, at, "names %d keys; give 1 to %d, or remove it to have one generated into the state directory", count, seal.MaxKeys)
		return nil
	}
	var keys []durward.SealKey
	for i, raw := range b.raw.SealKeys {
		here := at.In(strconv.Itoa(i))
		text, ok := b.tryExpand(here, string(raw))
		if !ok {
			continue
		}
		b.refs.remember(text)
		key, err := durward.ParseSealKey(text)
		if err != nil {
			b.layers.report(yamlx.CodeValue, here, "is no key: %s", message(err))
			continue
		}
		b.refs.remember(key.Reveal())
		if other := slices.IndexFunc(keys, key.Equal); other >= 0 {
			b.layers.report(codeConflict, here, "is a key that stands further up already; remove one")
		}
		keys = append(keys, key)
	}
	return keys
}
