package ledger

// Later records something and does not wait for it. It reports whether it is on
// its way: while the store takes nothing, or the queue is full, it is dropped. Calls
// are not recorded this way.
func (l *Ledger) Later(r Record) bool {
	p, err := l.offer(l.normal(r), nil, false)
	return p.group != nil && err == nil
}
