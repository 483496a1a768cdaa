package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"durward/internal/wire"
)

// cell is one measurement.
type cell struct {
	name string
	run  func(ctx context.Context, b *harness) error
}

// cells lists the measurements. A later part of the gateway adds a path by
// adding its configuration here.
func cells() []cell {
	var out []cell
	for _, path := range paths() {
		for _, callers := range []int{1, 16, 64} {
			out = append(out, throughput(path, callers, tiny(), map[int]float64{1: 0.52, 16: 0.60, 64: 0.60}[callers]))
		}
		out = append(out, throughput(path, 16, bigResult(64<<10), 0.45))
	}
	for _, callers := range []int{1, 16, 64} {
		out = append(out, recorded(callers, tiny()))
	}
	out = append(out, recorded(16, bigResult(64<<10)), writing(), ruled(1), ruled(16))
	for _, callers := range []int{1, 16} {
		out = append(out, crossings(callers))
	}
	return append(out,
		cell{"huge", hugeResult}, cell{"list", listTools}, cell{"idle", idle}, cell{"start", startMany}, reading())
}

// base is what all configurations begin with, off what those have in which nothing is
// recorded: what the ledger costs has cells of its own.
const (
	base = "version: 1\nlisten: 127.0.0.1:0\nbuiltin: false\n"
	off  = base + "ledger: {enabled: false}\n"
)

// path is one way through the gateway, by its configuration.
type path struct{ name, config string }

func paths() []path {
	return []path{
		{"bare", off + "servers:\n  echo: {command: ECHO}\n"},
		{"bare-http", off + "servers:\n  echo: {url: \"http://UPSTREAM/mcp\"}\n"},
	}
}

func (b *harness) configure(config string, upstream endpoint) string {
	return strings.NewReplacer("ECHO", filepath.Join(b.dir, "echo"), "UPSTREAM", upstream.address).Replace(config)
}

func tiny() call {
	return call{tool: "echo", arguments: `{"message":"hello, durward"}`, want: []byte(`"hello, durward"`)}
}

func bigResult(n int) call {
	return call{tool: "big", arguments: fmt.Sprintf(`{"bytes":%d}`, n), want: bytes.Repeat([]byte("x"), n)}
}

// throughput compares the direct way with one path, at so many callers.
func throughput(p path, callers int, c call, want float64) cell {
	payload := len(c.want)
	name := fmt.Sprintf("%s-%d-%d", p.name, callers, payload)
	return cell{name, func(ctx context.Context, b *harness) error {
		echo, direct, err := b.echoHTTP(ctx)
		if err != nil {
			return err
		}
		defer echo.stop()
		gateway, through, err := b.gateway(ctx, b.configure(p.config, direct))
		if gateway != nil {
			defer gateway.stop()
		}
		if err != nil {
			return err
		}
		r, err := b.compare(ctx, name, gateway, direct, through, c, callers)
		if err != nil {
			return err
		}
		fmt.Printf("bench path=%s callers=%d payload=%d %s\n", p.name, callers, payload, r)
		b.target(r.errors == 0, "%s: errors=%d", name, r.errors)
		if p.name == "bare" {
			b.target(r.ratio >= want, "%s: ratio=%.2f, wanted %.2f", name, r.ratio, want)
		}
		return nil
	}}
}

// result is what a throughput cell prints.
type result struct {
	rps, ratio         float64
	p50, p99, addedP50 time.Duration
	allocs, cpuMicros  float64
	rssKB, errors      int
}

func (r result) String() string {
	return fmt.Sprintf("rps=%.0f ratio=%.3f p50_us=%d p99_us=%d added_p50_us=%d allocs=%.0f cpu_us=%.1f rss_kb=%d errors=%d",
		r.rps, r.ratio, r.p50.Microseconds(), r.p99.Microseconds(), r.addedP50.Microseconds(), r.allocs, r.cpuMicros, r.rssKB, r.errors)
}

// compare runs both ways in interleaved rounds and takes medians.
func (b *harness) compare(ctx context.Context, name string, gateway *process, direct, through endpoint, c call, callers int) (result, error) {
	for _, e := range []endpoint{direct, through} { // warm up
		if _, err := run(e, c, callers, b.round/3); err != nil {
			return result{}, err
		}
	}
	stopProfile := b.startProfile(name, gateway, 2)
	var rps, ratio, p50, p99, added, allocs, cpu []float64
	var r result
	for range b.rounds {
		d, err := run(direct, c, callers, b.round)
		if err != nil {
			return result{}, err
		}
		before := gateway.usage()
		g, err := run(through, c, callers, b.round)
		if err != nil {
			return result{}, errors.Join(err, ctx.Err())
		}
		after := gateway.usage()
		r.errors += d.errors + g.errors
		rps, ratio = append(rps, g.rps()), append(ratio, g.rps()/d.rps())
		p50, p99 = append(p50, float64(g.quantile(0.5))), append(p99, float64(g.quantile(0.99)))
		added = append(added, float64(g.quantile(0.5)-d.quantile(0.5)))
		allocs = append(allocs, float64(after.mallocs-before.mallocs)/float64(g.calls))
		cpu = append(cpu, float64((after.cpu-before.cpu).Microseconds())/float64(g.calls))
		r.rssKB = after.rssKB
	}
	stopProfile()
	r.rps, r.ratio, r.allocs, r.cpuMicros = median(rps), median(ratio), median(allocs), median(cpu)
	r.p50, r.p99, r.addedP50 = time.Duration(median(p50)), time.Duration(median(p99)), time.Duration(median(added))
	return r, nil
}

// startProfile fetches a CPU profile of the gateway while the rounds over so many ways
// run, if asked to.
func (b *harness) startProfile(name string, gateway *process, ways int) (stop func()) {
	if !b.profile {
		return func() {}
	}
	done := make(chan struct{})
	seconds := int((time.Duration(b.rounds*ways) * b.round).Seconds())
	go func() {
		defer close(done)
		var profile []byte
		if err := gateway.get(fmt.Sprintf("/api/v1/runtime/profile?seconds=%d", seconds), &profile); err != nil {
			fmt.Fprintln(os.Stderr, "profile:", err)
			return
		}
		if err := os.MkdirAll("bench/out", 0o750); err == nil {
			_ = os.WriteFile(filepath.Join("bench", "out", name+".pprof"), profile, 0o600)
		}
	}()
	return func() { <-done }
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// hugeResult fetches 16 MiB in one result and looks at the peak of memory.
func hugeResult(ctx context.Context, b *harness) error {
	const size = 16 << 20
	gateway, through, err := b.gateway(ctx, b.configure(paths()[0].config, endpoint{}))
	if gateway != nil {
		defer gateway.stop()
	}
	if err != nil {
		return err
	}
	if _, err := run(through, tiny(), 4, b.round/3); err != nil {
		return err
	}
	before := gateway.usage()
	conn, err := dial(through)
	if err != nil {
		return err
	}
	defer conn.close()
	ok, err := conn.call(through, bigResult(size), 1)
	if err != nil {
		return err
	}
	growth := float64(gateway.usage().peakKB-before.peakKB) / (size >> 10)
	fmt.Printf("bench-huge payload=%d intact=%v growth=%.2f\n", size, ok, growth)
	b.target(ok, "huge: the result came back changed")
	b.target(growth <= 4, "huge: memory grew by %.1f times the result, allowed 4", growth)
	return nil
}

// listTools compares listing 5,000 tools, all pages, with writing the same bytes from memory.
func listTools(ctx context.Context, b *harness) error {
	const tools = 5000
	direct, memory, err := b.echoHTTP(ctx, "-tools", fmt.Sprint(tools))
	if err != nil {
		return err
	}
	defer direct.stop()
	gateway, through, err := b.gateway(ctx, b.configure(off+"servers:\n  echo: {command: ECHO, args: [\"-tools\", \"5000\"]}\n", endpoint{}))
	if gateway != nil {
		defer gateway.stop()
	}
	if err != nil {
		return err
	}
	var ratio, took []float64
	listed, bytesOut := 0, 0
	for range 4 * b.rounds {
		m, _, _, err := listAll(memory)
		if err != nil {
			return err
		}
		g, n, size, err := listAll(through)
		if err != nil {
			return err
		}
		ratio, took = append(ratio, float64(g)/float64(m)), append(took, float64(g))
		listed, bytesOut = n, size
	}
	fmt.Printf("bench-list tools=%d bytes=%d us=%.0f ratio=%.2f\n", listed, bytesOut, median(took)/1e3, median(ratio))
	b.target(listed > tools, "list: %d tools listed, wanted more than %d", listed, tools)
	b.target(median(ratio) <= 3, "list: %.1f times the time of writing from memory, allowed 3", median(ratio))
	return nil
}

// listAll reads all pages of tools/list.
func listAll(e endpoint) (took time.Duration, tools, size int, err error) {
	conn, err := dial(e)
	if err != nil {
		return 0, 0, 0, err
	}
	defer conn.close()
	began := time.Now()
	cursor := ""
	for {
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + cursor + meta + `}}`
		answer, err := conn.post(e, wire.MethodToolsList, "", []byte(body))
		if err != nil {
			return 0, 0, 0, err
		}
		took += time.Since(began)
		size += len(answer)
		tools += bytes.Count(answer, []byte(`"inputSchema"`))
		next := wire.Get(wire.Get(answer, "result"), "nextCursor")
		if next == nil {
			return took, tools, size, nil
		}
		cursor = `"cursor":` + string(next) + `,`
		began = time.Now()
	}
}
