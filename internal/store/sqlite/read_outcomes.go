package sqlite

// outcomes leaves the rows whose outcome matches, and those of which the segment does
// not know it: these are doubtful.
func (s *search) outcomes(sp span, rows, doubtful *set) error {
	if s.status == "" && s.minDuration <= 0 {
		return nil
	}
	n := len(s.terms)
	data, err := s.cursors[n].at(sp.first)
	if err != nil {
		return err
	}
	if err := orTerm(doubtful, data, string(statusDispatched), sp.rows); err != nil {
		return err
	}
	if s.status != "" {
		have := *doubtful
		if err := orTerm(&have, data, s.status, sp.rows); err != nil {
			return err
		}
		rows.and(&have)
	}
	if s.minDuration <= 0 || rows.empty() {
		return nil
	}
	return s.durations(sp, rows, doubtful)
}

// durations leaves the rows that took at least minDuration, and doubtful ones.
func (s *search) durations(sp span, rows, doubtful *set) error {
	least := magnitude(s.minDuration)
	have := *doubtful
	var border set // as long as minDuration or a little shorter
	for _, cursor := range s.cursors[len(s.terms)+1:] {
		data, err := cursor.at(sp.first)
		if err != nil {
			return err
		}
		err = eachTerm(data, func(term, content []byte) error {
			switch m := int(term[len(term)-1]); { // see magnitudeTerm
			case m > least:
				return have.orFrom(content, sp.rows)
			case m == least:
				return border.orFrom(content, sp.rows)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	border.and(rows)
	rows.and(&have)
	if border.empty() {
		return nil
	}
	cost, err := s.blob(keyOf(s.stream, fieldCost, 0, sp.first))
	if err != nil {
		return err
	}
	if s.costs, err = readDurations(s.costs, cost, sp.rows); err != nil {
		return err
	}
	border.each(func(p int) bool {
		if s.costs[p] >= s.minDuration {
			rows.add(p)
		}
		return true
	})
	return nil
}

// orTerm adds the rows that have a value.
func orTerm(s *set, data []byte, value string, n int) error {
	content, err := find(data, term(value))
	if err != nil || content == nil {
		return err
	}
	return s.orFrom(content, n)
}

// collect takes what is left of a segment's rows.
func (s *search) collect(sp span, rows, doubtful *set) error {
	if rows.count() <= fewOf(sp.rows) {
		return s.collectFew(sp, rows, doubtful)
	}
	at, err := s.blob(keyOf(s.stream, fieldAt, 0, sp.first))
	if err != nil {
		return err
	}
	if s.ats, err = readColumn(s.ats, at, sp.rows); err != nil {
		return err
	}
	s.seqs = s.seqs[:0] // read when the first is wanted
	rows.each(func(p int) bool {
		if !s.found.takes(s.ats[p]) || s.ats[p] < s.since || s.ats[p] > s.newest() {
			return true
		}
		if len(s.seqs) == 0 {
			if s.seqs, err = s.readSeqs(sp); err != nil {
				return false
			}
		}
		err = s.take(point{s.ats[p], s.seqs[p]}, doubtful.has(p))
		return err == nil
	})
	return err
}

// fewOf returns for how many rows of a segment it is cheaper to look at themselves than
// to read the times of all: those are 24 KiB of a segment of calls, seven pages that
// follow from each other, and the page that a row is on is read anyway when it is shown.
func fewOf(rows int) int { return max(1, rows/1024) }

// collectFew is collect for few rows.
func (s *search) collectFew(sp span, rows, doubtful *set) (err error) {
	if s.seqs, err = s.readSeqs(sp); err != nil {
		return err
	}
	rows.each(func(p int) bool {
		found := point{seq: s.seqs[p]}
		err = s.each("SELECT coalesce(at, 0) FROM "+tableOf(s.stream)+" WHERE seq = ?", func(row []value) error {
			found.at, _ = row[0].(int64)
			return s.take(found, doubtful.has(p))
		}, found.seq)
		return err == nil
	})
	return err
}

// take takes a row if it is one of the newest that match.
func (s *search) take(p point, doubtful bool) error {
	if !s.found.takes(p.at) || p.seq < s.floor || !s.matches(p) {
		return nil
	}
	ok := true
	if doubtful {
		var err error
		if ok, err = s.doubt(p.seq); err != nil {
			return err
		}
	}
	if ok {
		s.found.add(p)
	}
	return nil
}

func (s *search) readSeqs(sp span) ([]int64, error) {
	seq, err := s.blob(keyOf(s.stream, fieldSeq, 0, sp.first))
	if err != nil {
		return nil, err
	}
	return readColumn(s.seqs, seq, sp.rows)
}

// doubt looks at a row itself.
func (s *search) doubt(seq int64) (ok bool, err error) {
	if s.stream == streamCalls {
		return s.ended(seq)
	}
	query, args := s.bounded(s.tail, s.from.args)
	err = s.each(query, func([]value) error {
		ok = true
		return nil
	}, append(args, seq-1, seq)...)
	return ok, err
}

// ended looks at the outcome of a call itself.
func (s *search) ended(call int64) (ok bool, err error) {
	ok = s.minDuration <= 0 && (s.status == "" || s.status == string(statusDispatched))
	err = s.each("SELECT status, duration FROM outcomes WHERE call = ?", func(row []value) error {
		status, _ := row[0].(string)
		duration, _ := row[1].(int64)
		ok = (s.status == "" || s.status == status) && duration >= s.minDuration
		return nil
	}, call)
	return ok, err
}
