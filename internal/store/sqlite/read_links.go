package sqlite

import (
	"cmp"
	"errors"
	"slices"
	"sort"

	"durward/ledger"
)

// linksAtOnce bounds how many links are read together: calls that follow each other are
// in links that do.
const linksAtOnce = 32

// linksOf returns the links that records are in, by seq. Where the chain has none it is
// the zero Link.
func (v *view) linksOf(records []point) (map[int64]ledger.Link, error) {
	newestFirst := slices.SortedFunc(slices.Values(records), func(a, b point) int { return cmp.Compare(b.seq, a.seq) })
	links := make(map[int64]ledger.Link, len(records))
	run := linkRun{view: v, most: int64(min(len(records), linksAtOnce))}
	for _, p := range newestFirst {
		l, err := run.of(p.seq)
		if err != nil {
			return nil, err
		}
		links[p.seq] = l
	}
	return links, nil
}

// linkRun finds the links of records that are asked for from the newest to the oldest.
type linkRun struct {
	*view
	most  int64         // that are read together
	links []ledger.Link // that follow each other
	first []int64       // the first record of each
}

func (r *linkRun) of(record int64) (ledger.Link, error) {
	if i := r.at(record); i >= 0 {
		return r.links[i], nil
	}
	if len(r.links) > 0 { // most often it is a little older than what was asked for before
		if err := r.read(int64(r.links[0].Seq) - 1); err != nil {
			return ledger.Link{}, err
		}
		if i := r.at(record); i >= 0 {
			return r.links[i], nil
		}
	}
	seq, err := r.linkOf(record)
	if err == nil {
		err = r.read(seq)
	}
	if n := len(r.links); err == nil && n > 0 && int64(r.links[n-1].Seq) == seq {
		return r.links[n-1], nil
	}
	return ledger.Link{}, err
}

// at returns which link of the run a record is in; -1: none.
func (r *linkRun) at(record int64) int {
	i := sort.Search(len(r.first), func(i int) bool { return r.first[i] > record }) - 1
	if i < 0 || record-r.first[i] >= int64(r.links[i].Records) {
		return -1
	}
	return i
}

// read reads a run of links, of which seq is the last.
//
//	SEARCH chain USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)
func (r *linkRun) read(seq int64) error {
	r.links, r.first = r.links[:0], r.first[:0]
	return r.each("SELECT seq, at, records, digest, hash, first FROM chain WHERE seq > ? AND seq <= ? ORDER BY seq", func(row []value) error {
		l, first, err := scanLink(row)
		if err != nil {
			return err
		}
		r.links, r.first = append(r.links, l), append(r.first, first)
		return nil
	}, seq-r.most, seq)
}

// linkOf returns the seq of the link that a record is in. Links lie one after the other,
// so it is found by halving: two dozen looks among millions.
//
//	SEARCH chain USING INTEGER PRIMARY KEY (rowid<?)
func (v *view) linkOf(record int64) (int64, error) {
	low, err := v.number("SELECT min(seq) FROM chain")
	high, err2 := v.number("SELECT max(seq) FROM chain")
	err = errors.Join(err, err2)
	for low < high && err == nil {
		middle := low + (high-low+1)/2
		err = v.each("SELECT seq, first FROM chain WHERE seq <= ? ORDER BY seq DESC LIMIT 1", func(row []value) error {
			link, _ := row[0].(int64)
			if first, _ := row[1].(int64); first <= record {
				low = middle
			} else {
				high = link - 1
			}
			return nil
		}, middle)
	}
	return low, err
}
