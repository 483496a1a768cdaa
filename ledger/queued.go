package ledger

// Queued returns how many records wait for the next transaction.
func (l *Ledger) Queued() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.pending.records)
}
