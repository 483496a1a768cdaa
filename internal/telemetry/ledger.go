package telemetry

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"durward/ledger"
)

// LedgerState is what there is to know of the ledger at a moment.
type LedgerState struct {
	Queued     int       // records that wait to be committed
	Failing    bool      // it takes nothing, and calls are refused
	Size       int64     // bytes on disk; 0: unknown
	Checkpoint time.Time // when the last one was signed; zero: never
}

// WatchLedger has the metrics tell the state of a ledger from now on. ask is called
// when somebody reads them, by several goroutines, and must not take long.
func (t *Telemetry) WatchLedger(ask func() LedgerState) { t.ledgerState.Store(&ask) }

// Measured returns the store of a ledger with what it writes measured.
func (t *Telemetry) Measured(s ledger.Store) ledger.Store { return measured{Store: s, meter: t.ledger} }

// ledgerMeter measures batches.
type ledgerMeter struct {
	commit, batch *prometheus.HistogramVec
	records       *prometheus.CounterVec
	failures      *prometheus.CounterVec

	took, size prometheus.Observer
	failed     prometheus.Counter
	byKind     [ledger.KindNote + 1]prometheus.Counter
}

func newLedgerMeter() *ledgerMeter {
	m := &ledgerMeter{
		commit: histogramVec(nameLedgerCommit), batch: histogramVec(nameLedgerBatch),
		records: counterVec(nameLedgerRecords), failures: counterVec(nameLedgerFailures),
	}
	m.took, m.size, m.failed = m.commit.WithLabelValues(), m.batch.WithLabelValues(), m.failures.WithLabelValues()
	for kind := range m.byKind {
		m.byKind[kind] = m.records.WithLabelValues(kindName(ledger.Kind(kind)))
	}
	return m
}

func (m *ledgerMeter) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.commit, m.batch, m.records, m.failures}
}

// kindName is the kind of a record as a label.
func kindName(k ledger.Kind) string {
	switch k {
	case ledger.KindIntent:
		return "intent"
	case ledger.KindOutcome:
		return "outcome"
	case ledger.KindSessionStart:
		return "session_start"
	case ledger.KindSessionEnd:
		return "session_end"
	case ledger.KindDecision:
		return "decision"
	case ledger.KindApproval:
		return "approval"
	case ledger.KindChange:
		return "change"
	case ledger.KindFlow:
		return "flow"
	case ledger.KindEvent:
		return "event"
	case ledger.KindNote:
		return "note"
	default:
		return other
	}
}

// measured is a store that is measured.
type measured struct {
	ledger.Store
	meter *ledgerMeter
}

// Write commits a batch.
func (s measured) Write(ctx context.Context, b *ledger.Batch) error {
	begun := time.Now()
	err := s.Store.Write(ctx, b)
	m := s.meter
	m.took.Observe(time.Since(begun).Seconds())
	if err != nil {
		m.failed.Inc()
		return err
	}
	m.size.Observe(float64(len(b.Records)))
	var n [len(m.byKind)]int
	for _, r := range b.Records {
		kind := r.Kind()
		if int(kind) >= len(n) {
			kind = 0 // other
		}
		n[kind]++
	}
	for kind, count := range n {
		if count > 0 {
			m.byKind[kind].Add(float64(count))
		}
	}
	return nil
}
