// Package sigma translates Sigma detection rules into rules of Durward's policy.
//
// What a rule means is kept: texts match without regard to case and as a whole,
// with * and ? as wildcards, unless modifiers say otherwise; lists are
// alternatives; a field that is absent makes its comparison false, also under
// "not". What cannot be translated is refused with its file, line and field, and
// never left out: half a detection is another detection.
//
// A translated rule never allows by itself (see [Options.Action]): a detection that
// became an allow rule would open what defaults close.
//
// Start at [Translate] and [Render]. [Fields] says which fields there are.
// The format: https://sigmahq.io/sigma-specification/
package sigma
