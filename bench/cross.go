package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// crossCost is how much more processor time of the gateway a call may cost that
// crosses from one protocol era into the other.
const crossCost = 1.5

// asked is the metadata of a modern client that can be asked for input: a call of
// such a client to a legacy server is prepared to be held.
const asked = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"sampling":{}}}`

// pair is a client of one era and a server of another, or the same.
type pair struct {
	name    string
	through endpoint
	gateway *process

	rps, cpu, allocs []float64
	errors           int
}

// crossings compares the four pairs of eras, all on stdio servers, in interleaved
// rounds. A crossing is compared with the path on which client and server are
// both of the client's era.
func crossings(callers int) cell {
	return cell{fmt.Sprintf("cross-%d", callers), func(ctx context.Context, b *harness) error {
		pairs, stop, err := b.pairs(ctx)
		defer stop()
		if err != nil {
			return err
		}
		for round := range b.rounds + 1 {
			for _, p := range pairs {
				length := b.round
				if round == 0 { // warm up
					length /= 3
				}
				if err := p.run(callers, length, round > 0); err != nil {
					return errors.Join(err, ctx.Err())
				}
			}
		}
		for i, p := range pairs {
			same := pairs[i-i%2] // of the client's era
			p.report(b, callers, same)
		}
		return nil
	}}
}

// pairs starts a gateway for each era of the server and gives it clients of both.
func (b *harness) pairs(ctx context.Context) (pairs []*pair, stop func(), err error) {
	var started []*process
	stop = func() {
		for _, p := range started {
			p.stop()
		}
	}
	gateways := map[string]endpoint{}
	byEra := map[string]*process{}
	for _, era := range []string{"modern", "legacy"} {
		config := off + "servers:\n  echo: {command: ECHO, era: " + era + "}\n"
		p, through, err := b.gateway(ctx, b.configure(config, endpoint{}))
		if p != nil {
			started = append(started, p)
		}
		if err != nil {
			return nil, stop, err
		}
		gateways[era], byEra[era] = through, p
	}
	for _, names := range [][2]string{{"modern", "modern"}, {"modern", "legacy"}, {"legacy", "legacy"}, {"legacy", "modern"}} {
		p := &pair{name: names[0] + "-" + names[1], through: gateways[names[1]], gateway: byEra[names[1]]}
		p.through.meta = asked
		if names[0] == "legacy" {
			if p.through.session, err = openSession(ctx, &http.Client{}, p.through); err != nil {
				return nil, stop, err
			}
		}
		pairs = append(pairs, p)
	}
	return pairs, stop, nil
}

func (p *pair) run(callers int, length time.Duration, counts bool) error {
	before := p.gateway.usage()
	s, err := run(p.through, tiny(), callers, length)
	if err != nil {
		return err
	}
	after := p.gateway.usage()
	p.errors += s.errors
	if counts {
		p.rps = append(p.rps, s.rps())
		p.cpu = append(p.cpu, float64((after.cpu-before.cpu).Microseconds())/float64(s.calls))
		p.allocs = append(p.allocs, float64(after.mallocs-before.mallocs)/float64(s.calls))
	}
	return nil
}

func (p *pair) report(b *harness, callers int, same *pair) {
	ratios := make([]float64, len(p.cpu))
	for i := range ratios { // both were measured in the same round
		ratios[i] = p.cpu[i] / same.cpu[i]
	}
	cost := median(ratios)
	fmt.Printf("bench path=%s callers=%d payload=%d rps=%.0f cpu_us=%.1f cpu_same_us=%.1f cpu_ratio=%.2f allocs=%.0f errors=%d\n",
		p.name, callers, len(tiny().want), middle(p.rps), middle(p.cpu), middle(same.cpu), cost, middle(p.allocs), p.errors)
	b.target(p.errors == 0, "%s-%d: errors=%d", p.name, callers, p.errors)
	b.target(cost <= crossCost, "%s-%d: %.2f times the processor time of %s, allowed %.1f", p.name, callers, cost, same.name, crossCost)
}

// middle is median of a copy: the order of the rounds is still needed.
func middle(v []float64) float64 { return median(append([]float64(nil), v...)) }
