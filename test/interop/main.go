// Command interop lets real MCP clients use real MCP servers through a gateway
// and checks the content of what comes back. It has two scenes:
//
//   - reference: the official TypeScript client in its three modes over HTTP and
//     over "durward stdio", the Inspector's command line, and the mcp-remote and
//     supergateway adapters; against the reference servers and two Go servers, over
//     stdio and HTTP.
//   - bridge: clients of four libraries, each in one protocol era, against servers
//     of four libraries, each in one protocol era: every feature in all four pairs
//     of eras, what servers ask their clients above all; and two principals at once.
//
// Run one of these:
//
//	go run ./test/interop                 # everything, through the gateways
//	go run ./test/interop -direct         # the same scripts without a gateway
//	go run ./test/interop -scene bridge -only 'gosdk-modern' -v
//
// At the end stands a table of which clients did what with which servers in the
// bridge; an empty cell counts as failed. The last line is "interop: passed=N
// failed=N skipped=N"; the exit code is 1 when a check failed.
package main

import (
	"context"
	"flag"
	"io"
	"regexp"

	"durward/test/harness"
)

type options struct {
	direct  bool
	verbose bool
	only    string
	scene   string
	gateway string
}

func main() {
	var o options
	flag.BoolVar(&o.direct, "direct", false, "run the scripts against the servers themselves")
	flag.BoolVar(&o.verbose, "v", false, "print checks that passed, too")
	flag.StringVar(&o.only, "only", "", "run the jobs whose label matches this regular expression")
	flag.StringVar(&o.scene, "scene", "", "run one scene: reference or bridge")
	flag.StringVar(&o.gateway, "gateway", "", "gateway binary; built from ./cmd/durward when empty")
	flag.Parse()
	harness.Main("interop", func(ctx context.Context, w io.Writer) (bool, error) { return run(ctx, o, w) })
}

// run reports false when a check failed and an error when the run itself could
// not be made.
func run(ctx context.Context, o options, w io.Writer) (ok bool, err error) {
	only, err := regexp.Compile(o.only)
	if err != nil {
		return false, err
	}
	tools, err := harness.Open()
	if err != nil {
		return false, err
	}
	if err := tools.BuildFixtures(ctx, "gosdk", "mcpgo", "goclient"); err != nil {
		return false, err
	}
	if o.gateway == "" && !o.direct {
		if o.gateway, err = tools.BuildGateway(ctx); err != nil {
			return false, err
		}
	}
	return harness.InRunDir("interop", false, func(dir string) (bool, error) {
		r := &runner{tools: tools, options: o, only: only, out: w, matrix: newMatrix()}
		if err := r.playAll(ctx, dir); err != nil {
			return false, err
		}
		return r.end()
	})
}

func keepFirst(err, next error) error {
	if err != nil {
		return err
	}
	return next
}

// tally counts what the scripts reported.
type tally struct{ passed, failed, skipped int }

// add counts one check and returns the line to print for it.
func (t *tally) add(c check) string {
	switch {
	case c.Skipped != "":
		t.skipped++
		return "skipped " + c.Name + ": " + c.Skipped
	case c.OK:
		t.passed++
		return "passed  " + c.Name
	default:
		t.failed++
		return "FAILED  " + c.Name + "\n    " + indent(c.Error)
	}
}
