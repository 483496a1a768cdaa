package sqlite

// pruneStep is how many segments are removed in one transaction.
const pruneStep = 16

// pruneIndex removes the segments all of whose rows have a seq of at most upto, because
// these are gone. It goes in small transactions and may be ended between any two.
func pruneIndex(c *conn, upto int64) error {
	for st := streamCalls; st <= streamNotes; st++ {
		var gone []int64 // first seq of segments
		err := c.spans(st, func(sp span) error {
			if sp.last <= upto {
				gone = append(gone, sp.first)
			}
			return nil
		})
		if err != nil {
			return err
		}
		for len(gone) > 0 {
			n := min(pruneStep, len(gone))
			if err := pruneSegments(c, st, gone[n-1]); err != nil {
				return err
			}
			gone = gone[n:]
		}
	}
	return nil
}

// pruneSegments removes the segments of a table up to the one that begins at first.
func pruneSegments(c *conn, st stream, first int64) error {
	return c.transaction(func() error {
		for f := field(1); f < 1<<keyFieldBits; f++ {
			for bucket := range bucketsOf(f) {
				_, err := c.exec("DELETE FROM segments WHERE key BETWEEN ? AND ?", keyOf(st, f, bucket, 0), keyOf(st, f, bucket, first))
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
}
