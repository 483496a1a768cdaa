package main

import (
	"maps"
	"strings"
)

// peerLimits are the checks that cannot succeed between this client and this
// server, whatever stands between them, with the reason.
func peerLimits(c bridgeClient, s server) map[string]string {
	without := make(map[string]string)
	set := func(reason string, checks ...string) {
		for _, name := range checks {
			without[name] = reason
		}
	}
	program := family(s.Name)
	if program == "mcpgo" && s.Era == "modern" {
		set("mcp-go 1.2.1 sends resource updates to no subscriptions/listen", "subscription")
	}
	if c.name == "gosdk" && c.era == modernRevision && s.Era == "modern" && program != "gosdk" {
		set("go-sdk 1.8.0 cannot read a roots/list without params in an input request", "roots")
	}
	if program == "everything" {
		set("server-everything asks for roots when nobody calls, and never again", "roots")
		if c.era == modernRevision {
			set("server-everything makes a tool error of its own of a question that is refused", "cannot-ask")
		}
	}
	if s.Era == "legacy" && !strings.HasSuffix(s.Name, "-http") {
		set("the lists of a server that runs a process for each principal are those of its first process", "list-changed")
	}
	if c.name == "mcpgo" && c.era == legacyRevision && s.At.Command == "" {
		set("mcp-go 1.2.1 tells no legacy HTTP server that a call was left", "cancel", "held-cancel")
	}
	return without
}

// directLimits are those of peers that meet without a gateway, which mends some.
func directLimits(c bridgeClient, s server) map[string]string {
	without := peerLimits(c, s)
	more := make(map[string]string)
	program := family(s.Name)
	if c.era == modernRevision && program != "ts" {
		more["cannot-ask"] = "the server asks whoever calls"
	}
	if program == "everything" {
		more["cannot-ask"] = "the server asks whoever calls"
	}
	if c.name == "gosdk" && s.Name == "mcpgo-modern-http" {
		for _, name := range []string{"cancel", "held-cancel"} {
			more[name] = "go-sdk 1.8.0 closes the connection because mcp-go 1.2.1 takes no notifications/cancelled"
		}
	}
	maps.Copy(without, more)
	return without
}
