package sqlite

import "errors"

// pruneIndex removes the segments all of whose rows have a seq of at most upto, because
// these are gone. It is called in the transaction that removes them.
func pruneIndex(c *conn, upto int64) error {
	for st := streamCalls; st <= streamNotes; st++ {
		gone := int64(0) // first seq of the last segment that goes
		kept := errors.New("the first that stays")
		err := c.spans(st, func(sp span) error {
			if sp.last > upto {
				return kept
			}
			gone = sp.first
			return nil
		})
		if err != nil && !errors.Is(err, kept) {
			return err
		}
		if gone == 0 {
			continue
		}
		if err := pruneSegments(c, st, gone); err != nil {
			return err
		}
	}
	return nil
}

// pruneSegments removes the segments of a table up to the one that begins at first.
func pruneSegments(c *conn, st stream, first int64) error {
	for f := field(1); f < 1<<keyFieldBits; f++ {
		for bucket := range bucketsOf(f) {
			_, err := c.exec("DELETE FROM segments WHERE key BETWEEN ? AND ?", keyOf(st, f, bucket, 0), keyOf(st, f, bucket, first))
			if err != nil {
				return err
			}
		}
	}
	return nil
}
