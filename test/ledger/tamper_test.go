package ledger_test

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"durward/ledger"
)

// base makes a ledger with records of every kind, of which a part has been pruned,
// and returns it with the link that is signed last.
func base(t *testing.T) (p place, anchored uint64) {
	p = newPlace(t)
	synctest.Test(t, func(t *testing.T) { // hours pass in no time
		s := start(t, p)
		s.fill(16)
		late, end := s.call(3) // its intent will be pruned, its outcome not
		s.sign()
		cut := s.check.Newest().Seq
		time.Sleep(2 * time.Hour)
		s.log.Outcome(t.Context(), late, end)
		s.fill(36)
		s.sign()
		keep := ledger.KeepOptions{Retention: ledger.Retention{Rows: time.Hour}, Store: s.db, Checkpoints: s.check}
		if k, err := ledger.Keep(t.Context(), keep); err != nil || k.Rows != cut {
			t.Fatalf("%+v, %v; %d", k, err, cut)
		}
		s.rest("")
		s.sign()
		anchored = s.check.Newest().Seq
		s.rest("") // not signed
		s.stop()
	})
	return p, anchored
}

// derived are tables and columns that say nothing of their own: they are computed from
// the rows, or count what is used. The chain does not cover them.
func derived(table, column string) bool {
	switch table {
	case "segments", "marks", "goose_db_version":
		return true
	}
	return column == "last"
}

// tamper is one thing that is done to a file.
type tamper struct {
	name string
	do   []string // SQL
}

// table is what is in a table.
type table struct {
	name    string
	columns []string
	rows    []map[string]any
}

func tables(t testing.TB, db *sql.DB) []table {
	t.Helper()
	all := tableNames(t, db)
	for i := range all {
		all[i].load(t, db)
	}
	return all
}

// tableNames returns the tables that say something of their own.
func tableNames(t testing.TB, db *sql.DB) []table {
	t.Helper()
	names, err := db.Query("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")
	if err != nil {
		t.Fatal(err)
	}
	defer names.Close()
	var all []table
	for names.Next() {
		var tt table
		if err := names.Scan(&tt.name); err != nil {
			t.Fatal(err)
		}
		if !derived(tt.name, "") {
			all = append(all, tt)
		}
	}
	if err := names.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func (tt *table) load(t testing.TB, db *sql.DB) {
	t.Helper()
	rows, err := db.Query("SELECT * FROM " + tt.name + " ORDER BY 1")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	if tt.columns, err = rows.Columns(); err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		values, to := make([]any, len(tt.columns)), make([]any, len(tt.columns))
		for i := range values {
			to[i] = &values[i]
		}
		if err := rows.Scan(to...); err != nil {
			t.Fatal(err)
		}
		row := map[string]any{}
		for i, c := range tt.columns {
			row[c] = values[i]
		}
		tt.rows = append(tt.rows, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}

// where chooses a row: the first column is the key of each table.
func (tt *table) where(row map[string]any) string {
	return fmt.Sprintf(" WHERE %s = %v", tt.columns[0], row[tt.columns[0]])
}

// others are values that a column could hold instead.
func others(v any) []string {
	switch v := v.(type) {
	case nil:
		return []string{"1", "'x'", "x'01'", "0", "''", "zeroblob(16)", "zeroblob(32)", "zeroblob(8)"}
	case int64:
		return []string{fmt.Sprint(v + 1), fmt.Sprint(v - 1), fmt.Sprint(v ^ 1<<40), "NULL"}
	case string:
		changed := []string{"'" + v + "x'", "'X' || '" + v + "'", "NULL"}
		if v != "" {
			changed = append(changed, "''")
		}
		return changed
	case []byte:
		if len(v) == 0 {
			return []string{"x'00'"}
		}
		flipped := slices.Clone(v)
		flipped[len(v)/2] ^= 0x10
		changed := []string{fmt.Sprintf("x'%x'", flipped), fmt.Sprintf("x'%x'", v[:len(v)-1]), "NULL"}
		if len(v) == 16 { // the same identifier in another form
			changed = append(changed, fmt.Sprintf("'%x-%x-%x-%x-%x'", v[:4], v[4:6], v[6:8], v[8:10], v[10:]))
		}
		return changed
	default:
		panic(fmt.Sprintf("%T", v))
	}
}

// everyValue is for how many rows of a table every other value of each column is
// tried. For the rest it is one each.
const everyValue = 4

// all are all single changes of a file.
func all(ts []table) (list []tamper) {
	add := func(name string, do ...string) { list = append(list, tamper{name: name, do: do}) }
	unique := []string{"DROP INDEX intents_id", "DROP INDEX outcomes_call"}
	for i := range ts {
		tt := &ts[i]
		last := tt.rows[len(tt.rows)-1][tt.columns[0]].(int64)
		for n, row := range tt.rows {
			name := fmt.Sprintf("%s %v", tt.name, row[tt.columns[0]])
			for _, c := range tt.columns {
				if derived(tt.name, c) {
					continue
				}
				values := others(row[c])
				if n >= everyValue {
					values = values[n%len(values):][:1]
				}
				for _, v := range values {
					add(name+" "+c+" = "+v, append(slices.Clone(unique), "UPDATE OR FAIL "+tt.name+" SET "+c+" = "+v+tt.where(row))...)
				}
			}
			add(name+" removed", "DELETE FROM "+tt.name+tt.where(row))
			if _, isRecord := row["seq"]; isRecord && tt.name != "pruned_calls" {
				for _, key := range []int64{last + 1, 1 << 40, -1}[n%3:][:1] {
					add(fmt.Sprintf("%s twice, as %d", name, key), append(slices.Clone(unique),
						fmt.Sprintf("INSERT INTO %s SELECT %d, %s FROM %s%s", tt.name, key, strings.Join(tt.columns[1:], ", "), tt.name, tt.where(row)))...)
				}
			}
		}
	}
	return append(list, moves(ts)...)
}

// moves are exchanges of neighbours: of records, whichever tables they are in, and of
// links.
func moves(ts []table) (list []tamper) {
	place := map[int64]string{}
	most := int64(0)
	var chain *table
	for i := range ts {
		if ts[i].name == "chain" {
			chain = &ts[i]
			continue
		}
		for _, row := range ts[i].rows {
			if seq, ok := row["seq"].(int64); ok && ts[i].name != "pruned_calls" {
				place[seq] = ts[i].name
				most = max(most, seq)
			}
		}
	}
	for seq := range most {
		a, b := place[seq], place[seq+1]
		if a == "" || b == "" {
			continue
		}
		list = append(list, tamper{name: fmt.Sprintf("records %d and %d exchanged", seq, seq+1), do: []string{
			"DROP INDEX outcomes_call",
			fmt.Sprintf("UPDATE %s SET seq = -7 WHERE seq = %d", a, seq), fmt.Sprintf("UPDATE %s SET seq = %d WHERE seq = %d", b, seq, seq+1), fmt.Sprintf("UPDATE %s SET seq = %d WHERE seq = -7", a, seq+1),
			// Who knows the tables lets outcomes follow their intents.
			fmt.Sprintf("UPDATE outcomes SET call = CASE call WHEN %d THEN %d ELSE %d END WHERE call IN (%d, %d)", seq, seq+1, seq, seq, seq+1),
		}})
	}
	for i := 1; i < len(chain.rows); i++ {
		a, b := chain.rows[i-1], chain.rows[i]
		seq := b["seq"].(int64)
		list = append(list,
			tamper{name: fmt.Sprintf("links %d and %d exchanged", seq-1, seq), do: []string{
				"UPDATE chain SET seq = -7" + chain.where(a), fmt.Sprintf("UPDATE chain SET seq = %d", seq-1) + chain.where(b), fmt.Sprintf("UPDATE chain SET seq = %d WHERE seq = -7", seq),
			}},
			tamper{name: fmt.Sprintf("a record more in link %d, one less in %d", seq-1, seq), do: []string{
				"UPDATE chain SET records = records + 1" + chain.where(a), "UPDATE chain SET records = records - 1, first = first + 1" + chain.where(b),
			}},
			tamper{name: fmt.Sprintf("link %d removed, its records to the one before", seq), do: []string{
				fmt.Sprintf("UPDATE chain SET records = records + %v", b["records"]) + chain.where(a), "DELETE FROM chain" + chain.where(b),
			}},
		)
	}
	return list
}

// TestEveryTamperOfAFileIsFound changes each column of each row, removes and copies
// each row and exchanges all neighbours, in a real file. With the race detector it
// tries some of that only.
func TestEveryTamperOfAFileIsFound(t *testing.T) {
	p, anchored := base(t)
	keys := verifiers(t, p)
	good := verify(t, p.db, p.proof, keys)
	want(t, good, ledger.VerdictOK)
	if good.Truncated == nil || good.Unanchored == nil || good.Anchored.Seq != anchored || len(good.Findings) > 0 {
		t.Fatalf("%+v", good)
	}
	db := open(t, p.db)
	ts := tables(t, db)
	rows := 0
	for _, tt := range ts {
		if len(tt.rows) == 0 {
			t.Errorf("table %s is empty: nothing of it is tried", tt.name)
		}
		rows += len(tt.rows)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	image := read(t, p.db)
	path := filepath.Join(t.TempDir(), "tampered.db")
	tried, refused, missed := map[string]int{}, 0, 0
	tampers := all(ts)
	for i, tt := range tampers {
		if i%share != 0 {
			continue
		}
		write(t, path, image)
		db := open(t, path)
		err := apply(db, tt)
		if closing := db.Close(); closing != nil {
			t.Fatal(closing)
		}
		if err != nil { // of the wrong type, or there already: not even SQLite takes it
			refused++
			continue
		}
		what, _, _ := strings.Cut(tt.name, " ")
		tried[what]++
		r := verifyRecords(t, path, p.proof, keys)
		if r.Verdict != ledger.VerdictDamaged {
			missed++
			t.Errorf("%s: %s\n%s", tt.name, r.Verdict, text(r))
		}
	}
	sum := 0
	for _, n := range tried {
		sum += n
	}
	fmt.Printf("tamper-test: records_and_links=%d tampers=%d tried=%d found=%d missed=%d refused_by_sqlite=%d by_table=%v\n", rows, len(tampers), sum, sum-missed, missed, refused, tried)
	if sum < 2000/share {
		t.Error("only tried", sum)
	}
}

func apply(db *sql.DB, tt tamper) error {
	for _, do := range tt.do {
		r, err := db.Exec(do)
		if err != nil {
			return err
		}
		if strings.HasPrefix(do, "DROP") || strings.HasPrefix(do, "UPDATE outcomes SET call") {
			continue
		}
		if n, err := r.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, errors.New("nothing was changed"))
		}
	}
	return nil
}
