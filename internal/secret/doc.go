// Package secret keeps values that nobody may see from being seen: a [Value]
// that no printing, logging or encoding shows, and a [Matcher] that finds known
// values in text that comes from elsewhere and masks them.
//
// It is not a store and it encrypts nothing. Stores implement [Store]; the
// values they give stay Values until the last hop, where [Value.Reveal] gives
// the text to whoever sends it.
//
// Start with [New] and [NewMatcher].
package secret
