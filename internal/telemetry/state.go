package telemetry

import (
	"sort"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"durward"
	"durward/gateway"
	"durward/internal/telemetry/otlp"
)

// Gateway is what is asked of a gateway when metrics are read.
type Gateway interface {
	Status() gateway.Status
	Load() gateway.Load
}

// WatchGateway has the metrics tell the state of a gateway from now on.
func (t *Telemetry) WatchGateway(g Gateway) { t.gateway.Store(&g) }

// state is what is asked for when the metrics are read.
type state struct {
	t     *Telemetry
	descs map[string]*prometheus.Desc
}

// namesOfState are the metrics that state has.
func namesOfState() []string {
	return []string{
		namePassing, nameServed, nameStreams, nameSessions, nameHolds, nameState, nameInFlight, nameQueued, nameRestarts, nameAnomalies,
		nameTools, nameDials, nameConnections, nameExported, nameDropped, nameFailed,
		nameLedgerQueue, nameLedgerFailing, nameLedgerSize, nameCheckpointAge,
	}
}

func newState(t *Telemetry) *state {
	s := &state{t: t, descs: map[string]*prometheus.Desc{}}
	for _, name := range namesOfState() {
		m := find(name)
		s.descs[name] = prometheus.NewDesc(m.name, m.help, m.labels, nil)
	}
	return s
}

// Describe implements prometheus.Collector.
func (s *state) Describe(out chan<- *prometheus.Desc) {
	for _, d := range s.descs {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (s *state) Collect(out chan<- prometheus.Metric) {
	c := &collecting{s: s, out: out}
	dials, failed, open := s.t.dials.Read()
	if g := s.t.gateway.Load(); g != nil {
		load := (*g).Load()
		dials, failed, open = dials+load.Dials, failed+load.DialsFailed, open+load.Connections
		c.load(load)
		c.servers((*g).Status().Servers)
	}
	c.add(nameDials, float64(dials-failed), "ok")
	c.add(nameDials, float64(failed), "failed")
	c.add(nameConnections, float64(open))
	if ask := s.t.ledgerState.Load(); ask != nil {
		c.ledger((*ask)())
	}
	if x := s.t.export; x != nil {
		for _, signal := range otlp.Signals() {
			n := x.Counts(signal)
			c.add(nameExported, float64(n.Sent), signal.String())
			c.add(nameDropped, float64(n.Dropped), signal.String())
			c.add(nameFailed, float64(n.Failed), signal.String())
		}
	}
}

// collecting is one reading of the metrics.
type collecting struct {
	s   *state
	out chan<- prometheus.Metric
}

func (c *collecting) add(name string, value float64, labels ...string) {
	kind := prometheus.GaugeValue
	if find(name).kind == counter {
		kind = prometheus.CounterValue
	}
	m, err := prometheus.NewConstMetric(c.s.descs[name], kind, value, labels...)
	if err != nil { // a label that Prometheus does not take: labelText leaves none
		m = prometheus.NewInvalidMetric(c.s.descs[name], err)
	}
	c.out <- m
}

func (c *collecting) load(l gateway.Load) {
	c.add(namePassing, float64(l.Passing))
	c.add(nameServed, float64(l.Served))
	c.add(nameStreams, float64(l.Streams))
	c.add(nameSessions, float64(l.Sessions))
	c.add(nameHolds, float64(l.Holds))
}

func states() []durward.ServerState {
	return []durward.ServerState{
		durward.StateConfigured, durward.StateConnecting, durward.StateReady, durward.StateDegraded, durward.StateBackoff, durward.StateDisabled,
	}
}

// servers tells of the servers that the configuration has now. There are as many as
// it names: the bound is for those who come and go while the service runs.
func (c *collecting) servers(all []durward.ServerStatus) {
	for _, st := range all[:min(len(all), maxServers)] {
		for _, is := range states() {
			value := 0.0
			if st.State == is {
				value = 1
			}
			c.add(nameState, value, st.Name, string(is))
		}
		c.add(nameInFlight, float64(st.InFlight), st.Name)
		c.add(nameQueued, float64(st.Queued), st.Name)
		c.add(nameRestarts, float64(st.Restarts), st.Name)
		c.add(nameTools, float64(st.Tools), st.Name)
		c.anomalies(st)
	}
}

// maxKinds bounds the kinds of anomalies of one server.
const maxKinds = 64

func (c *collecting) anomalies(st durward.ServerStatus) {
	kinds := make([]string, 0, len(st.Anomalies))
	for kind := range st.Anomalies {
		kinds = append(kinds, kind)
	}
	sort.Strings(kinds) // the same ones each time
	seen := map[string]bool{}
	rest := 0
	for _, kind := range kinds {
		text := labelText(kind, c.s.t.opt.Redact)
		if len(seen) == maxKinds || seen[text] {
			rest += st.Anomalies[kind]
			continue
		}
		seen[text] = true
		c.add(nameAnomalies, float64(st.Anomalies[kind]), st.Name, text)
	}
	if rest > 0 && !seen[other] {
		c.add(nameAnomalies, float64(rest), st.Name, other)
	}
}

func (c *collecting) ledger(l LedgerState) {
	c.add(nameLedgerQueue, float64(l.Queued))
	failing := 0.0
	if l.Failing {
		failing = 1
	}
	c.add(nameLedgerFailing, failing)
	if l.Size > 0 {
		c.add(nameLedgerSize, float64(l.Size))
	}
	if !l.Checkpoint.IsZero() {
		c.add(nameCheckpointAge, max(0, time.Since(l.Checkpoint).Seconds()))
	}
}
