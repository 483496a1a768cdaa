package sqlite

import (
	"math"
	"slices"
)

// tailStep is how many records are looked through by one step of a query: between two
// steps a question can be given up.
const tailStep = 32 << 10

// readTail looks through the rows that are in no segment.
func (s *search) readTail(last int64) error {
	if s.ofCalls() {
		return s.readTailOfCalls(last)
	}
	return s.eachTail(s.tail, "", s.from.args, last, func(row []value) error {
		p := point{}
		p.seq, _ = row[0].(int64)
		p.at, _ = row[1].(int64)
		if s.matches(p) {
			s.found.add(p)
		}
		return nil
	})
}

// bounded completes a query of rows with the wanted time and a range of seq, whose ends
// are added to the arguments. What is joined with rows of other times is not read then.
func (s *search) bounded(query string, args []value) (string, []value) {
	row := aliasOf(s.stream)
	args = slices.Clone(args)
	if s.since > 0 {
		query += row + ".at >= ? AND "
		args = append(args, s.since)
	}
	if newest := s.newest(); newest < math.MaxInt64 {
		query += "coalesce(" + row + ".at, 0) <= ? AND "
		args = append(args, newest)
	}
	return query + row + ".seq > ? AND " + row + ".seq <= ?", args
}

// aliasOf is what the table of a stream is called in queries of its rows.
func aliasOf(st stream) string {
	if st == streamCalls {
		return "i"
	}
	return "x"
}

// eachTail calls f for the rows of a query that come after a segment. Where records of
// other tables are between two rows it steps over them.
//
//	SEARCH decisions USING INTEGER PRIMARY KEY (rowid<?)
func (s *search) eachTail(query, order string, args []value, last int64, f func(row []value) error) error {
	newest, err := s.number("SELECT max(seq) FROM " + tableOf(s.stream))
	if err != nil {
		return err
	}
	before := "SELECT max(seq) FROM " + tableOf(s.stream) + " WHERE seq <= ?"
	last = max(last, s.floor-1)
	query, args = s.bounded(query, args)
	query, args = query+order, append(args, nil, nil)
	for newest > last {
		from := max(last, newest-tailStep)
		args[len(args)-2], args[len(args)-1] = from, newest
		if err := s.eachOf(s.ctx, query, f, args...); err != nil || from <= last {
			return err
		}
		if newest, err = s.number(before, from); err != nil {
			return err
		}
	}
	return nil
}

// readTailOfCalls is readTail where the terms are about the calls that rows belong to,
// which may be anywhere in the file. Of a call only the index of ids is read: which
// calls have the terms is known without their rows, mostly.
//
//	SEARCH x USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)
//	SEARCH i USING COVERING INDEX intents_id (id=?)
func (s *search) readTailOfCalls(last int64) error {
	if any, err := s.known.begin(s.view, s.terms); err != nil || !any {
		return err
	}
	query := "SELECT x.seq, x.at, i.seq FROM " + tableOf(s.stream) + " x CROSS JOIN intents i ON i.id = x.call WHERE "
	return s.eachTail(query, " ORDER BY x.seq DESC", nil, last, func(row []value) error {
		p := point{}
		p.seq, _ = row[0].(int64)
		p.at, _ = row[1].(int64)
		call, _ := row[2].(int64)
		if !s.matches(p) || !s.found.takes(p.at) {
			return nil
		}
		ok, err := s.known.has(call)
		if err != nil || !ok {
			return err
		}
		return s.take(p, false)
	})
}
