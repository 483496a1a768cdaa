// Package harness holds what the outer test programs (test/conformance,
// test/interop, test/chaos and test/kill) share: how they begin, end and keep their
// files, where the repository, the pinned Node and the real peers are, how fixtures
// and the gateway are built, and how a program is started, watched and ended with
// everything it started.
//
// It is not for unit tests: it runs real processes. Start at [Open].
package harness
