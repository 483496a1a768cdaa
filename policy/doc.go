// Package policy decides what may be done: rules in CEL, in layers, of which the
// most restrictive one that matches wins.
//
// [Compile] turns the documents of all layers into a [Set], or says everything
// that is wrong with them at once. An [Engine] decides calls and results by the set
// it was given last; [Engine.Swap] gives it another one while calls are decided.
// What it returns is one value, which is both enforced and recorded.
//
// Nothing is ever decided by what was not looked at: a condition sees whole values,
// an error while it is evaluated is a block, and a key that is absent makes the
// condition not match.
//
// Start at [Compile], [Engine.Decide] and [Event].
package policy
