package main_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"durward/test/harness"
	"durward/test/kill/rig"
)

// Where TestMain tells the tests what it built.
const (
	envGateway = "KILL_TEST_GATEWAY"
	envServer  = "KILL_TEST_SERVER"
)

func TestMain(m *testing.M) {
	dir, remove, err := harness.RunDir("kill-test")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	bin, err := rig.Build(context.Background(), dir, rig.Binaries{Gateway: os.Getenv(envGateway)})
	code := 1
	if err = errors.Join(err, os.Setenv(envGateway, bin.Gateway), os.Setenv(envServer, bin.Server)); err == nil {
		code = m.Run()
	}
	if err = errors.Join(err, remove()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// stage is a service with the counting servers, and clients that use it.
type stage struct {
	*rig.Service
	t        *testing.T
	dir      string // of the run; the journal is there
	counter  *rig.Counter
	load     *rig.Load
	modern   *rig.Client
	legacy   *rig.Client
	next     int
	recorded []rig.Call  // what call called
	kills    []time.Time // of kill
}

// newStage makes a stage and starts nothing. change may change the configuration.
func newStage(t *testing.T, env []string, change func(config map[string]any)) *stage {
	t.Helper()
	bin := rig.Binaries{Gateway: os.Getenv(envGateway), Server: os.Getenv(envServer)}
	dir, remove, err := harness.RunDir("kill-test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log("files are kept in", dir)
		} else if err := remove(); err != nil {
			t.Error(err)
		}
	})
	s := &stage{t: t, dir: dir}
	if s.counter, err = rig.StartCounter(bin.Server, dir, env...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.counter.Close)
	config := map[string]any{
		"servers": s.counter.Servers(bin.Server, dir),
		"limits":  map[string]any{"backoff_first": "50ms", "backoff_most": "500ms"},
	}
	if change != nil {
		change(config)
	}
	s.Service, err = rig.NewService(rig.ServiceOptions{Bin: bin.Gateway, Dir: dir, Config: config, Env: env})
	if err != nil {
		t.Fatal(err)
	}
	s.load = rig.NewLoad(s.Service, "load", 1)
	s.modern, s.legacy = rig.NewClient(s.Addr, true), rig.NewClient(s.Addr, false)
	return s
}

// up starts the service, waits until it is ready, and has it stopped at the end.
func (s *stage) up() {
	s.t.Helper()
	if err := s.Start(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = s.Stop() }) // it has ended in a test that went well
	for {
		if status, _, err := s.Get(s.t.Context(), "/readyz"); err == nil && status == http.StatusOK {
			return
		}
		if s.Ended() || s.t.Context().Err() != nil {
			s.t.Fatal("the service does not become ready; see", s.Log(s.Runs))
		}
		time.Sleep(10 * time.Millisecond) // another process offers no event to wait for
	}
}

// kill ends the service with SIGKILL.
func (s *stage) kill() {
	s.t.Helper()
	s.kills = append(s.kills, time.Now())
	if err := s.Kill(); err != nil {
		s.t.Fatal(err)
	}
	s.modern.HangUp()
	s.legacy.HangUp()
}

// call calls a tool of one of the counting servers. It returns the answer and the id.
func (s *stage) call(c *rig.Client, server, tool, arguments string) (rig.Answer, string) {
	s.next++
	id := fmt.Sprintf("call-%d", s.next)
	name := server + "__" + tool
	if arguments != "" {
		arguments = "," + arguments
	}
	r := rig.Request{ID: id, Method: "tools/call", Name: name, Params: fmt.Sprintf(`"name":%q,"arguments":{"id":%q%s}`, name, id, arguments)}
	call := rig.Call{ID: id, Begun: time.Now()}
	call.Answer = c.Do(s.t.Context(), r)
	call.Ended = time.Now()
	s.recorded = append(s.recorded, call)
	return call.Answer, id
}

// await calls again and again until an answer is as wanted, or fails the test.
func (s *stage) await(what string, within time.Duration, want func(rig.Answer) bool) rig.Answer {
	s.t.Helper()
	until := time.Now().Add(within)
	for {
		a, _ := s.call(s.modern, "web", "work", "")
		if want(a) {
			return a
		}
		if time.Now().After(until) {
			s.t.Fatalf("%s does not happen within %s; the last answer: %s", what, within, &a)
		}
		time.Sleep(20 * time.Millisecond) // another process offers no event to wait for
	}
}

// judge stops the service and looks whether the ledger has all that servers saw.
func (s *stage) judge() *rig.Records {
	s.t.Helper()
	if err := s.Stop(); err != nil {
		s.t.Error(err)
	}
	seen, err := rig.Seen(s.dir)
	if err != nil {
		s.t.Fatal(err)
	}
	records, err := rig.ReadRecords(s.t.Context(), s.Ledger())
	if err != nil {
		s.t.Fatal(err)
	}
	v := rig.Judge(&rig.Evidence{Calls: append(s.load.Calls(), s.recorded...), Seen: seen, Records: records, Kills: s.kills})
	for _, p := range v.Problems {
		s.t.Error(p)
	}
	complaints, err := s.Complaints()
	if err != nil {
		s.t.Fatal(err)
	}
	for _, c := range complaints {
		s.t.Error(c)
	}
	if _, err := s.Verify(s.t.Context()); err != nil {
		s.t.Error(err)
	}
	return records
}

func (s *stage) path(name string) string { return filepath.Join(s.dir, name) }
