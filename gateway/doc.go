// Package gateway is the front door of Durward: one MCP endpoint in front of
// many MCP servers, where every request of every entrance takes the same path —
// who is it, what is it for, may it, write it down, do it, may the caller have
// the answer, write that down.
//
// It is the only code that knows the order of these stages; [Gateway] hands each
// of them what it needs, and none of them knows another. Read call.go first:
// it is the whole product on one screen.
//
// An embedding program starts with [New], mounts [Gateway.Handler] or feeds
// [Gateway.ServeStdio], and ends with [Gateway.Close].
package gateway
