// Package durward is the vocabulary of Durward, the guard between AI agents and
// the tools they reach over the Model Context Protocol: what a [Call], a
// [Caller], a [Server], a [Decision] and an [Outcome] are, how risky a tool is,
// and the kinds of errors.
//
// It holds no behaviour, does no input or output and imports the standard
// library only; every other package speaks in its words. Embedders start at
// package gateway (one guarded endpoint) or package federation (many MCP
// servers as one set).
package durward
