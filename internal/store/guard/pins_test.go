package guard_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"durward/internal/pin"
	"durward/internal/store/guard"
)

func TestPinsAreKept(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "guard.db")
	db, err := guard.Open(ctx, guard.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	at := time.UnixMicro(1_700_000_000_000_001).UTC()
	one := pin.Row{Key: pin.Key{Server: "files", Kind: "tool", Name: "re\x00ad", Hash: "aa"}, State: pin.First, Raw: []byte(`{"name":"read"}`), Seen: at}
	two := pin.Row{Key: pin.Key{Server: "files", Kind: "tool", Name: "re\x00ad", Hash: "bb"}, State: pin.Held, Raw: []byte(`{"name":"read","title":"x"}`), Seen: at.Add(time.Second)}
	other := pin.Row{Key: pin.Key{Server: "files", Kind: "server"}, State: pin.Accepted, Seen: at}
	save(t, db, []pin.Row{one, two, other}, nil)

	verdict := two
	verdict.State, verdict.Raw, verdict.Decided, verdict.By = pin.Accepted, nil, at.Add(time.Minute), "ann"
	save(t, db, []pin.Row{verdict}, []pin.Key{other.Key})
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if db, err = guard.Open(ctx, guard.Options{Path: path}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	got, err := db.PinDefinitions(ctx, "files", "tool", "re\x00ad")
	if err != nil {
		t.Fatal(err)
	}
	verdict.Raw = two.Raw // a row without definition keeps the one that is there
	if diff := cmp.Diff([]pin.Row{one, verdict}, got); diff != "" {
		t.Error(diff)
	}
	loaded := map[pin.Key]pin.Row{}
	if err := db.LoadPins(ctx, func(r pin.Row) error { loaded[r.Key] = r; return nil }); err != nil {
		t.Fatal(err)
	}
	one.Raw, verdict.Raw = nil, nil
	if diff := cmp.Diff(map[pin.Key]pin.Row{one.Key: one, verdict.Key: verdict}, loaded); diff != "" {
		t.Error(diff)
	}
}

// TestPinsAreWrittenTogetherOrNotAtAll ends a transaction in its middle.
func TestPinsAreWrittenTogetherOrNotAtAll(t *testing.T) {
	db, err := guard.Open(context.Background(), guard.Options{Path: filepath.Join(t.TempDir(), "guard.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := db.SavePins(ctx, []pin.Row{{Key: pin.Key{Server: "a", Kind: "tool", Name: "x", Hash: "1"}, State: pin.First}}, nil); err == nil {
		t.Fatal("a write whose context has ended must fail")
	}
	err = db.LoadPins(context.Background(), func(r pin.Row) error { t.Errorf("%v was written", r); return nil })
	if err != nil {
		t.Fatal(err)
	}
}

func save(t *testing.T, db *guard.DB, put []pin.Row, drop []pin.Key) {
	t.Helper()
	if err := db.SavePins(context.Background(), put, drop); err != nil {
		t.Fatal(err)
	}
}
