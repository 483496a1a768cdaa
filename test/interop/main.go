// Command interop lets real MCP clients use real MCP servers through one gateway
// and checks the content of what comes back: the official TypeScript client in
// its three modes over HTTP and over "durward stdio", the Inspector's command
// line, and the mcp-remote and supergateway adapters; against the reference
// servers and two Go servers, over stdio and HTTP.
//
//	go run ./test/interop                 # everything, through the gateway
//	go run ./test/interop -direct         # the same scripts without a gateway
//	go run ./test/interop -only 'modern' -v
//
// The last line is "interop: passed=N failed=N skipped=N"; the exit code is 1
// when a check failed.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"syscall"

	"durward/test/harness"
)

type options struct {
	direct  bool
	verbose bool
	only    string
	gateway string
}

func main() {
	var o options
	flag.BoolVar(&o.direct, "direct", false, "run the scripts against the servers themselves")
	flag.BoolVar(&o.verbose, "v", false, "print checks that passed, too")
	flag.StringVar(&o.only, "only", "", "run the jobs whose label matches this regular expression")
	flag.StringVar(&o.gateway, "gateway", "", "gateway binary; built from ./cmd/durward when empty")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ok, err := run(ctx, o, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "interop:", err)
	}
	if err != nil || !ok {
		os.Exit(1) //nolint:gocritic // stop only unregisters signals; the process ends here anyway
	}
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
	if err := tools.BuildFixtures(ctx, "gosdk", "mcpgo"); err != nil {
		return false, err
	}
	dir, remove, err := harness.RunDir("interop")
	if err != nil {
		return false, err
	}
	// What fails keeps its logs.
	defer func() {
		if err != nil || !ok {
			fmt.Fprintln(os.Stderr, "interop: logs are kept in", dir)
		} else {
			err = remove()
		}
	}()
	peers, err := startServers(ctx, tools, dir)
	if err != nil {
		return false, err
	}
	defer func() { err = keepFirst(err, peers.stop()) }()
	jobs := directJobs(tools, peers)
	if !o.direct {
		g, err := startGateway(ctx, tools, o, dir, peers)
		if err != nil {
			return false, err
		}
		defer func() { err = keepFirst(err, g.Stop()) }()
		if jobs, err = gatewayJobs(tools, g, peers); err != nil {
			return false, err
		}
	}
	return runJobs(ctx, tools, o, w, only, jobs)
}

func keepFirst(err, next error) error {
	if err != nil {
		return err
	}
	return next
}

// runJobs runs the jobs one after another: some checks watch state that a
// server keeps for all its clients.
func runJobs(ctx context.Context, tools *harness.Toolbox, o options, w io.Writer, only *regexp.Regexp, jobs []job) (bool, error) {
	var total tally
	for _, j := range jobs {
		if !only.MatchString(j.Label) {
			continue
		}
		checks, err := j.run(ctx, tools)
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		if err != nil {
			checks = append(checks, check{Name: j.Label + "/script", Error: err.Error()})
		}
		for _, c := range checks {
			if text := total.add(c); text != "" && (o.verbose || c.Skipped != "" || !c.OK) {
				if _, err := fmt.Fprintln(w, text); err != nil {
					return false, err
				}
			}
		}
	}
	_, err := fmt.Fprintf(w, "interop: passed=%d failed=%d skipped=%d\n", total.passed, total.failed, total.skipped)
	return total.failed == 0 && total.passed > 0, err
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
