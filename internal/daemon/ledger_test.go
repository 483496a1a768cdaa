package daemon_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"durward"
	"durward/client"
	"durward/internal/daemon"
	"durward/internal/paths"
	"durward/internal/store/sqlite"
	"durward/internal/testkit/rawclient"
	"durward/internal/testkit/sharedlog"
	"durward/ledger"
)

func echo(t *testing.T, c *client.Client, message string) {
	t.Helper()
	arguments, err := json.Marshal(map[string]string{"message": message})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Call(t.Context(), client.CallRequest{Name: "local__echo", Arguments: arguments}, nil); err != nil {
		t.Fatal(err)
	}
}

// what returns the records of a ledger file, in order, as texts.
func records(t *testing.T) (all []ledger.Record) {
	t.Helper()
	// A service that runs has everything in the file before it answers this.
	if _, err := client.New(paths.Socket()).Ledger(t.Context()); err != nil && durward.KindOf(err) != durward.Unavailable {
		t.Fatal(err)
	}
	r, err := sqlite.OpenReader(t.Context(), paths.Ledger())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	err = r.Links(t.Context(), 0, func(_ ledger.Link, records []ledger.Record) error {
		all = append(all, records...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func changesIn(all []ledger.Record) (changes []*ledger.Change) {
	for _, r := range all {
		if c, ok := r.(*ledger.Change); ok {
			changes = append(changes, c)
		}
	}
	return changes
}

// From the start of the service to its end, all that happens is on record, and the
// last of it is signed.
func TestEverythingIsOnRecordFromStartToStop(t *testing.T) {
	home(t)
	s := started(t, configured(t, noServers+"auth: none\n"))
	c := client.New(paths.Socket())
	echo(t, c, "one")
	legacy := &rawclient.Client{URL: "http://" + s.Address() + "/mcp"}
	if _, err := legacy.Initialize(t.Context(), `{}`); err != nil {
		t.Fatal(err)
	}
	if a, err := legacy.CallTool(t.Context(), "local__echo", `{"message":"two"}`); err != nil || a.Text() != "two" {
		t.Fatalf("%v %v", a, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	all := records(t)
	kinds := map[ledger.Kind]int{}
	intents, outcomes := map[durward.CallID]*ledger.Intent{}, 0
	var session durward.SessionID
	for _, r := range all {
		kinds[r.Kind()]++
		switch r := r.(type) {
		case *ledger.Intent:
			intents[r.ID] = r
		case *ledger.Outcome:
			if intents[r.Call] == nil {
				t.Errorf("an outcome without an intent before it: %+v", r)
			}
			outcomes++
		case *ledger.SessionStart:
			session = r.ID
			if r.Principal != "local" || r.Entrance != durward.EntranceHTTP || r.Route != "/mcp" || r.Era != "legacy" || r.At.IsZero() {
				t.Errorf("%+v", r)
			}
		case *ledger.SessionEnd:
			if r.ID != session || !strings.Contains(r.Reason, "the service ended") {
				t.Errorf("%+v", r)
			}
		}
	}
	if len(intents) != outcomes || outcomes < 3 || kinds[ledger.KindSessionStart] != 1 || kinds[ledger.KindSessionEnd] != 1 {
		t.Errorf("%d intents, %d outcomes, %v", len(intents), outcomes, kinds)
	}
	if last, ok := all[len(all)-1].(*ledger.Note); !ok || last.What != "service stop" {
		t.Errorf("the last record is %+v", all[len(all)-1])
	}
	report := verify(t)
	if report.Verdict != ledger.VerdictOK || report.Unanchored != nil || report.Anchored == nil || report.Anchored.Seq != report.To {
		t.Errorf("%+v", report)
	}
}

func verify(t *testing.T) *ledger.Report {
	t.Helper()
	r, err := sqlite.OpenReader(t.Context(), paths.Ledger())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	keys, err := ledger.Verifiers(paths.LedgerKey())
	if err != nil {
		t.Fatal(err)
	}
	report, err := ledger.Verify(t.Context(), r, ledger.VerifyOptions{Checkpoints: paths.LedgerCheckpoints(paths.Ledger()), Verifiers: keys})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// Changes are on record before they are made, with who makes them, and say what
// became of them.
func TestChangesAreOnRecord(t *testing.T) {
	c, opt := served(t, noServers)
	ctx := t.Context()
	if _, err := c.AddServer(ctx, hostileServer("a")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.AddServer(ctx, client.NewServer{Name: "gone", Command: "/does/not/exist"}); err == nil {
		t.Fatal("added")
	}
	if err := c.DisableServer(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.EnableServer(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	if err := c.RemoveServer(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.RotateKeys(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Reload(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := c.AddServer(ctx, client.NewServer{Name: "bad name", Command: "x"}); err == nil {
		t.Fatal("added")
	}
	var got []string
	for _, change := range changesIn(records(t)) {
		got = append(got, change.What+" "+filepath.Base(change.Target))
		if !strings.HasPrefix(change.Who, "local (service API, uid ") || !strings.HasSuffix(change.Who, fmt.Sprintf(", pid %d)", os.Getpid())) || change.At.IsZero() {
			t.Errorf("%+v", change)
		}
		if strings.HasPrefix(change.What, "server") && (len(change.OldHash) != 64 || len(change.NewHash) != 64 || change.OldHash == change.NewHash || !strings.Contains(change.Detail, "different: servers.")) {
			t.Errorf("%+v", change)
		}
	}
	want := []string{
		"server add a", "server add gone", "server add undone gone", "server disable a", "server enable a", "server remove a",
		"keys rotate seal.keys", "keys rotate done seal.keys", "config reload " + filepath.Base(opt.ConfigFile),
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// A change that cannot be recorded is not made, and neither is a call; both go on
// when the ledger is back.
func TestNothingIsDoneThatCannotBeRecorded(t *testing.T) {
	c, opt := served(t, noServers)
	s := `{"message":"x"}`
	echo(t, c, "before")
	aside := paths.Ledger() + ".aside"
	if err := os.Rename(paths.Ledger(), aside); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Call(t.Context(), client.CallRequest{Name: "local__echo", Arguments: json.RawMessage(s)}, nil); durward.KindOf(err) != durward.Unavailable {
		t.Errorf("a call: %v", err)
	}
	before := read(t, opt.ConfigFile)
	if _, err := c.AddServer(t.Context(), hostileServer("a")); durward.KindOf(err) != durward.Unavailable || !strings.Contains(err.Error(), "cannot be recorded, so it was not made") {
		t.Errorf("a change: %v", err)
	}
	if after := read(t, opt.ConfigFile); after != before {
		t.Errorf("the file was changed:\n%s", after)
	}
	status, err := c.Status(t.Context())
	if err != nil || !strings.Contains(status.LedgerProblem, "nothing can be recorded since") || len(status.Servers) != 1 {
		t.Errorf("%+v %v", status, err)
	}
	if code, text := ready(t, status.Address); code != http.StatusServiceUnavailable || text != "calls cannot be recorded, so they are refused; durward status says why\n" {
		t.Errorf("%d %q", code, text)
	}
	info, err := c.Ledger(t.Context())
	if err != nil || info.Problem == "" || info.Since.IsZero() {
		t.Errorf("%+v %v", info, err)
	}
	if err := os.Rename(aside, paths.Ledger()); err != nil {
		t.Fatal(err)
	}
	for status.LedgerProblem != "" { // it looks by itself
		if status, err = c.Status(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond) // the status can only be asked for again
	}
	echo(t, c, "after")
	if code, _ := ready(t, status.Address); code != http.StatusOK {
		t.Error(code)
	}
	if report := verify(t); report.Verdict != ledger.VerdictOK {
		t.Errorf("%+v", report)
	}
}

func ready(t *testing.T, address string) (int, string) {
	t.Helper()
	resp, err := http.Get("http://" + address + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// What is asked of the record is answered, also over the file's end and by TCP.
func TestTheRecordIsRead(t *testing.T) {
	c, _ := served(t, noServers)
	ctx := t.Context()
	long := strings.Repeat("long ", 1000)
	for _, message := range []string{"one", "two", long} {
		echo(t, c, message)
	}
	page, err := c.Calls(ctx, client.CallFilter{Limit: 2, Tool: "echo"})
	for err == nil && page.Calls[0].Status == client.StatusDispatched { // no reply waits for the record of how a call ended
		page, err = c.Calls(ctx, client.CallFilter{Limit: 2, Tool: "echo"})
	}
	if err != nil || len(page.Calls) != 2 || page.Next == "" {
		t.Fatalf("%+v %v", page, err)
	}
	older, err := c.Calls(ctx, client.CallFilter{Limit: 2, Tool: "echo", Cursor: page.Next})
	if err != nil || len(older.Calls) != 1 || older.Next != "" || !strings.Contains(older.Calls[0].Request, `"one"`) {
		t.Fatalf("%+v %v", older, err)
	}
	newest := page.Calls[0]
	story, err := c.CallStory(ctx, string(newest.ID)[:24])
	if err != nil || story.Call.ID != newest.ID || story.Link.Seq == 0 {
		t.Errorf("%+v %v", story, err)
	}
	body, info, err := c.Body(ctx, newest.ResponseBody)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(body)
	if err != nil || !strings.Contains(string(text), long) || info.Original != len(text) || info.Truncated || !json.Valid(text) {
		t.Errorf("%.80s %+v %v", text, info, err)
	}
	if err := body.Close(); err != nil {
		t.Error(err)
	}
	for _, wrong := range []string{"", "0", strings.Repeat("g", 64), strings.Repeat("0", 66)} {
		if _, _, err := c.Body(ctx, wrong); err == nil {
			t.Errorf("%q: a body", wrong)
		}
	}
	if _, _, err := c.Body(ctx, strings.Repeat("ab", 32)); durward.KindOf(err) != durward.NotFound {
		t.Error(err)
	}
	stats, err := c.CallStats(ctx, client.CallFilter{Since: "1h"})
	if err != nil || stats.Calls != 3 || stats.ByStatus["ok"] != 3 {
		t.Errorf("%+v %v", stats, err)
	}
	moments, err := c.Timeline(ctx, client.TimelineFilter{Layers: []string{"tool"}})
	if err != nil || len(moments.Moments) != 3 {
		t.Errorf("%+v %v", moments, err)
	}
}

func TestCallsAreFollowed(t *testing.T) {
	c, _ := served(t, noServers)
	echo(t, c, "before")
	var seen []string
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	called := make(chan struct{})
	go func() {
		defer close(called)
		for i := 0; ctx.Err() == nil; i++ { // when it is heard is not known here
			_, _ = c.Call(ctx, client.CallRequest{Name: "local__echo", Arguments: json.RawMessage(`{"message":"during"}`)}, nil)
		}
	}()
	err := c.FollowCalls(ctx, client.CallFilter{Tool: "local__echo"}, "0", func(e client.Followed) bool {
		seen = append(seen, e.Call.Request)
		return len(seen) < 5
	})
	cancel()
	<-called
	if err != nil || len(seen) != 5 || !strings.Contains(seen[0], "before") || !strings.Contains(seen[4], "during") {
		t.Errorf("%q %v", seen, err)
	}
}

// The tokens that open the service are as secret as those of the configuration: an
// agent that reads files finds them, and the record must not keep them.
func TestGeneratedTokensAndKeysAreNotRecorded(t *testing.T) {
	c, _ := served(t, noServers+"api: {listen: 127.0.0.1:0}\n")
	found := []string{token(t)}
	for _, file := range []string{paths.APIToken(), paths.APIReadToken()} {
		found = append(found, strings.TrimSpace(read(t, file)))
	}
	found = append(found, strings.TrimSpace(read(t, paths.LedgerKey())))
	if _, err := c.RotateLedgerKey(t.Context()); err != nil {
		t.Fatal(err)
	}
	found = append(found, strings.TrimSpace(read(t, paths.LedgerKey())))
	for line := range strings.Lines(read(t, paths.SealKeys())) {
		if !strings.HasPrefix(line, "#") {
			found = append(found, strings.Fields(line)[0])
		}
	}
	echo(t, c, "I read "+strings.Join(found, " and "))
	if _, err := c.RotateKeys(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, r := range records(t) {
		text := fmt.Sprintf("%+v", r)
		for _, value := range found {
			if strings.Contains(text, value) {
				t.Errorf("%d characters of it: %s", len(value), strings.ReplaceAll(text, value, "THE SECRET"))
			}
		}
	}
}

// A secret that is replaced stays one: calls that were made with it may still tell it.
func TestReplacedSecretsAreNotRecorded(t *testing.T) {
	const text = noServers + "servers: {s: {command: none, disabled: true, env: {TOKEN: '${env:DURWARD_TEST_TOKEN}'}}}\n"
	planted := []string{"the-first-token-of-s", "the-second-token-of-s", "the-third-token-of-s"}
	t.Setenv("DURWARD_TEST_TOKEN", planted[0])
	c, _ := served(t, text)
	for _, next := range planted[1:] {
		t.Setenv("DURWARD_TEST_TOKEN", next)
		if _, err := c.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	echo(t, c, strings.Join(planted, " "))
	for _, r := range records(t) {
		if text := fmt.Sprintf("%+v", r); strings.Contains(text, "-token-of-s") {
			t.Error(text)
		}
	}
}

// A start that fails leaves a ledger that the next start takes.
func TestALedgerThatCannotBeOpenedStopsTheStart(t *testing.T) {
	home(t)
	file := filepath.Join(t.TempDir(), "calls.db")
	if err := os.WriteFile(file, []byte("this is no ledger, and it is long enough to be looked at as a database\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	opt := configured(t, fmt.Sprintf(noServers+"ledger: {path: %q}\n", file))
	s, err := daemon.Start(opt)
	var failed *daemon.LedgerError
	if s != nil || !errors.As(err, &failed) || failed.Path != file || !strings.Contains(err.Error(), "no call may pass unrecorded") {
		t.Fatalf("%v %v", s, err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	started(t, opt)
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}

func TestWithoutALedgerThatIsSaid(t *testing.T) {
	var log sharedlog.Buffer
	home(t)
	opt := configured(t, noServers+"ledger: {enabled: false}\n")
	opt.LogTo = &log
	s := started(t, opt)
	c := client.New(paths.Socket())
	echo(t, c, "x")
	status, err := c.Status(t.Context())
	if err != nil || status.Ledger != "none: nothing is recorded (ledger.enabled is false)" || status.LedgerProblem != "" {
		t.Errorf("%+v %v", status, err)
	}
	if !strings.Contains(log.String(), "nothing is recorded") {
		t.Error(log.String())
	}
	if err := s.Ready(); err != nil {
		t.Error(err)
	}
	_, callsErr := c.Calls(t.Context(), client.CallFilter{})
	_, infoErr := c.Ledger(t.Context())
	_, verifyErr := c.VerifyLedger(t.Context(), nil)
	followErr := c.FollowCalls(t.Context(), client.CallFilter{}, "", func(client.Followed) bool { return true })
	for _, err := range []error{callsErr, infoErr, verifyErr, followErr} {
		if durward.KindOf(err) != durward.NotFound || !strings.Contains(err.Error(), "ledger.enabled") {
			t.Error(err)
		}
	}
	if _, err := os.Stat(paths.Ledger()); err == nil {
		t.Error("a ledger was made")
	}
}

func TestTheLedgerIsVerifiedCopiedAndPrunedWhileItIsWritten(t *testing.T) {
	c, _ := served(t, noServers)
	echo(t, c, strings.Repeat("long ", 1000))
	ctx, cancel := context.WithCancel(t.Context())
	written := make(chan struct{})
	go func() {
		defer close(written)
		for ctx.Err() == nil {
			_, _ = c.Call(ctx, client.CallRequest{Name: "local__echo", Arguments: json.RawMessage(`{"message":"x"}`)}, nil)
		}
	}()
	defer func() { cancel(); <-written }()
	v, err := c.VerifyLedger(ctx, nil)
	if err != nil || v.Verdict != client.VerdictOK || v.Anchored == nil || v.Bodies == 0 {
		t.Errorf("%+v %v", v, err)
	}
	file := filepath.Join(t.TempDir(), "copy.db")
	backup, err := c.BackupLedger(ctx, client.BackupRequest{File: file}, nil)
	if err != nil || backup.Bytes == 0 || backup.Checkpoints != file+".checkpoints" {
		t.Fatalf("%+v %v", backup, err)
	}
	for _, again := range []string{file, "relative.db"} {
		if _, err := c.BackupLedger(ctx, client.BackupRequest{File: again}, nil); err == nil {
			t.Errorf("%s: a second copy", again)
		}
	}
	r, err := sqlite.OpenReader(ctx, file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	keys, err := ledger.Verifiers(file)
	if err != nil {
		t.Fatal(err)
	}
	report, err := ledger.Verify(ctx, r, ledger.VerifyOptions{Checkpoints: backup.Checkpoints, Verifiers: keys})
	if err != nil || report.Verdict != ledger.VerdictOK || report.Anchored == nil {
		t.Errorf("%+v %v", report, err)
	}
	info, err := c.RotateLedgerKey(ctx)
	if err != nil || info.Key == keys[len(keys)-1] {
		t.Errorf("%+v %v", info, err)
	}
	if v, err := c.VerifyLedger(ctx, nil); err != nil || v.Verdict != client.VerdictOK || len(v.Keys) != 2 {
		t.Errorf("%+v %v", v, err)
	}
	p, err := c.PruneLedger(ctx, client.PruneRequest{Rows: "1h", Bodies: "1h", MaxSize: "16MiB"}, nil)
	if err != nil || p.Rows != 0 || p.Bytes == 0 {
		t.Errorf("%+v %v", p, err)
	}
	if _, err := c.PruneLedger(ctx, client.PruneRequest{Rows: "1s"}, nil); durward.KindOf(err) != durward.Invalid {
		t.Error(err)
	}
}
