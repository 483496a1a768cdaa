package main

import (
	"fmt"
	"io"
	"strings"
)

// report prints what was wrong and, as the last line, the figures; false when a
// promise was broken.
func report(w io.Writer, o options, all []*victim) (fine bool, err error) {
	var b strings.Builder
	chain := "ok"
	var kills, early, seen, calls, missing, recovered, answered, cut, again, problems int
	for _, v := range all {
		kills, early, seen, calls = kills+len(v.made), early+v.early, seen+v.seen, calls+v.calls
		missing, recovered = missing+v.result.Missing, recovered+v.recovered
		answered, cut = answered+v.result.Answered, cut+v.result.Cut
		again += v.again
		problems += len(v.problem)
		if v.broken {
			chain = "broken"
		}
		for _, p := range v.problem {
			fmt.Fprintf(&b, "broken (sync %s): %s\n", v.sync, p)
		}
	}
	if kills < o.kills {
		problems++
		fmt.Fprintf(&b, "broken: only %d of %d kills were made within %s\n", kills, o.kills, o.limit)
	}
	fmt.Fprintf(&b, "kill-test: kills=%d calls_seen=%d missing_rows=%d recovered=%d chain=%s calls=%d answered=%d cut=%d early_kills=%d failed_starts=%d\n",
		kills, seen, missing, recovered, chain, calls, answered, cut, early, again)
	_, err = io.WriteString(w, b.String())
	return problems == 0, err
}
