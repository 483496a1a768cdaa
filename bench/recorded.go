package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// What the ledger may cost: calls a second with it, as a share of those without, from
// 16 callers on; and what it adds to a call of a single caller.
const (
	ledgerShare = 0.80
	ledgerAdds  = 150 * time.Microsecond
)

// lane is one way that is measured in turn with others.
type lane struct {
	name    string
	through endpoint
	gateway *process // nil: the direct way

	rps, p50, p99, cpu, allocs, batch []float64 // by round
	rssKB, errors                     int
}

// recorded compares calls that are recorded, for both ledger.sync, with calls that
// are not, and with direct ones, in the same rounds.
func recorded(callers int, c call) cell {
	name := fmt.Sprintf("ledger-%d-%d", callers, len(c.want))
	return cell{name, func(ctx context.Context, b *harness) error {
		lanes, stop, err := b.lanes(ctx)
		defer stop()
		if err != nil {
			return err
		}
		if err := b.race(ctx, name, lanes, callers, c); err != nil {
			return err
		}
		for _, l := range lanes[2:] {
			l.report(b, lanes[0], lanes[1], callers, len(c.want))
		}
		return nil
	}}
}

// lanes starts the ways: direct, without ledger, ledger, ledger-full.
func (b *harness) lanes(ctx context.Context) (lanes []*lane, stop func(), err error) {
	return b.lanesOf(ctx, [][2]string{{"off", off}, {"ledger", base}, {"ledger-full", base + "ledger: {sync: full}\n"}})
}

// lanesOf starts the direct way, and one for each name and beginning of a configuration.
func (b *harness) lanesOf(ctx context.Context, ways [][2]string) (lanes []*lane, stop func(), err error) {
	var started []*process
	stop = func() {
		for _, p := range started {
			p.stop()
		}
	}
	echo, direct, err := b.echoHTTP(ctx)
	if echo != nil {
		started = append(started, echo)
	}
	if err != nil {
		return nil, stop, err
	}
	lanes = append(lanes, &lane{name: "direct", through: direct})
	for _, way := range ways {
		p, through, err := b.gateway(ctx, b.configure(way[1]+"servers:\n  echo: {command: ECHO}\n", direct))
		if p != nil {
			started = append(started, p)
		}
		if err != nil {
			return nil, stop, err
		}
		lanes = append(lanes, &lane{name: way[0], through: through, gateway: p})
	}
	return lanes, stop, nil
}

// race runs all lanes in every round, each round beginning with another one.
func (b *harness) race(ctx context.Context, name string, lanes []*lane, callers int, c call) error {
	var stop []func()
	defer func() {
		for _, f := range stop {
			f()
		}
	}()
	for round := range b.rounds + 1 {
		length := b.round
		if round == 0 { // warm up
			length /= 3
		}
		for i := range lanes {
			l := lanes[(i+round)%len(lanes)]
			if err := l.run(c, callers, length, round > 0); err != nil {
				return errors.Join(err, ctx.Err())
			}
		}
		for _, l := range lanes[1:] {
			if round == 0 {
				stop = append(stop, b.startProfile(l.name+name[strings.IndexByte(name, '-'):], l.gateway, len(lanes)))
			}
		}
	}
	return nil
}

func (l *lane) run(c call, callers int, length time.Duration, counts bool) error {
	var before, after usage
	if l.gateway != nil {
		before = l.gateway.usage()
	}
	links := l.links()
	s, err := run(l.through, c, callers, length)
	if err != nil {
		return fmt.Errorf("%s: %w", l.name, err)
	}
	if l.gateway != nil {
		after = l.gateway.usage()
	}
	l.errors += s.errors
	l.rssKB = after.rssKB
	if counts {
		l.rps = append(l.rps, s.rps())
		l.p50, l.p99 = append(l.p50, float64(s.quantile(0.5))), append(l.p99, float64(s.quantile(0.99)))
		l.cpu = append(l.cpu, float64((after.cpu-before.cpu).Microseconds())/float64(s.calls))
		l.allocs = append(l.allocs, float64(after.mallocs-before.mallocs)/float64(s.calls))
		batch := 0.0
		if written := l.links() - links; written > 0 { // there is a ledger
			batch = 2 * float64(s.calls) / float64(written)
		}
		l.batch = append(l.batch, batch)
	}
	return nil
}

// links is how many links the chain of the ledger has; 0 without one.
func (l *lane) links() int {
	var info struct{ Head struct{ Seq int } }
	if l.gateway == nil || l.gateway.get("/api/v1/ledger", &info) != nil {
		return 0
	}
	return info.Head.Seq
}

func (l *lane) report(b *harness, direct, off *lane, callers, payload int) {
	share := rounds(l.rps, off.rps, func(on, off float64) float64 { return on / off })
	added := time.Duration(rounds(l.p50, off.p50, func(on, off float64) float64 { return on - off }))
	fmt.Printf("bench path=%s callers=%d payload=%d rps=%.0f ratio=%.3f off_ratio=%.3f p50_us=%d p99_us=%d added_p50_us=%d allocs=%.0f off_allocs=%.0f cpu_us=%.1f off_cpu_us=%.1f rows_per_batch=%.1f rss_kb=%d off_rss_kb=%d errors=%d\n",
		l.name, callers, payload, middle(l.rps), rounds(l.rps, direct.rps, func(l, d float64) float64 { return l / d }), share,
		time.Duration(middle(l.p50)).Microseconds(), time.Duration(middle(l.p99)).Microseconds(), added.Microseconds(),
		middle(l.allocs), middle(off.allocs), middle(l.cpu), middle(off.cpu), middle(l.batch), l.rssKB, off.rssKB, l.errors)
	b.target(l.errors == 0, "%s-%d: errors=%d", l.name, callers, l.errors)
	if l.name != "ledger" || payload != len(tiny().want) {
		return
	}
	if callers == 1 {
		b.target(added <= ledgerAdds, "%s-%d: %s added to a call, allowed %s", l.name, callers, added, ledgerAdds)
	} else {
		b.target(share >= ledgerShare, "%s-%d: %.2f of the calls without ledger, wanted %.2f", l.name, callers, share, ledgerShare)
	}
}

// rounds compares two ways round by round, and returns the median.
func rounds(a, b []float64, compare func(a, b float64) float64) float64 {
	all := make([]float64, len(a))
	for i := range all {
		all[i] = compare(a[i], b[i])
	}
	return median(all)
}
