// Package tui is the terminal screen on which people answer: durward approvals. It
// lists the calls that wait, shows what each would do, and takes an answer with one
// key.
//
// What is shown comes from agents and servers, so nothing of it reaches the terminal
// as it is: characters that nobody would see, or that steer the terminal, are
// written out ([reveal.Line]). And an answer is for what was seen: a question that
// only just came up under the cursor is not answered, and one whose end was not
// shown is not approved, without a second press.
package tui
