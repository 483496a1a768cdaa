package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// What rules may add to a call of a single caller, and what is aimed at: with 10,000
// rules of which 20 can match.
const (
	policyAdds = 60 * time.Microsecond
	policyAim  = 30 * time.Microsecond
)

// manyRules writes rules of which some can match a call of echo; each of those looks
// at its arguments. The rest is for other servers, tools and methods.
func manyRules(all, can int) string {
	var b strings.Builder
	b.WriteString("rules:\n")
	for i := range all {
		fmt.Fprintf(&b, "- id: r%d\n  action: block\n", i)
		switch {
		case i < can:
			fmt.Fprintf(&b, "  servers: [echo]\n  tools: [\"e*\"]\n  when: 'mcp.tool.arguments.message == \"stop-%d\" && caller.principal != \"admin\" && (mcp.tool.risk == \"high\" || mcp.tool.name == \"echo\")'\n", i)
		case i%4 == 0:
			fmt.Fprintf(&b, "  servers: [echo]\n  tools: [other_%d]\n", i)
		case i%4 == 1:
			fmt.Fprintf(&b, "  servers: [server%d]\n  tools: [\"e*\"]\n", i%40)
		case i%4 == 2:
			fmt.Fprintf(&b, "  on: [tools/call]\n  tools: [\"tool_%d_*\"]\n", i)
		default:
			b.WriteString("  on: [resources/read]\n  servers: [echo]\n")
		}
	}
	return b.String()
}

// ruled compares calls that many rules could be for with calls without rules, and
// with direct ones, in the same rounds.
func ruled(callers int) cell {
	name := fmt.Sprintf("policy-%d", callers)
	return cell{name, func(ctx context.Context, b *harness) error {
		file := filepath.Join(b.dir, "rules.yaml")
		if err := os.WriteFile(file, []byte(manyRules(10_000, 20)), 0o600); err != nil {
			return fmt.Errorf("the rules cannot be written: %w", err)
		}
		lanes, stop, err := b.lanesOf(ctx, [][2]string{{"off", off}, {"policy", off + "policy: {files: [" + file + "]}\n"}})
		defer stop()
		if err != nil {
			return err
		}
		if err := b.race(ctx, name, lanes, callers, tiny()); err != nil {
			return err
		}
		l := lanes[2]
		l.report(b, lanes[0], lanes[1], callers, len(tiny().want))
		added := time.Duration(rounds(l.p50, lanes[1].p50, func(on, off float64) float64 { return on - off }))
		if callers == 1 {
			b.target(added <= policyAdds, "%s: %s added to a call by 10,000 rules of which 20 can match, allowed %s, aim %s", name, added, policyAdds, policyAim)
		}
		return nil
	}}
}
