package cli_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"durward"
	"durward/client"
	"durward/internal/cli"
	"durward/internal/paths"
	"durward/internal/private"
)

// serveStatus is the exit status of this program when it is started as a service.
const serveStatus = "DURWARD_TEST_SERVE_STATUS"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		fmt.Fprintln(os.Stderr, "it does not start")
		status, _ := strconv.Atoi(os.Getenv(serveStatus))
		syscall.Exit(status) // with the race detector os.Exit waits for a second
	}
	os.Exit(m.Run())
}

// ownPaths gives a test directories of its own.
func ownPaths(t *testing.T) {
	t.Helper()
	run, err := os.MkdirTemp("", "dw") // paths of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(run) })
	t.Setenv("XDG_RUNTIME_DIR", run)
	t.Setenv("XDG_STATE_HOME", t.TempDir())
}

// answer has the service API answer with what is asked for next each time.
func answer(t *testing.T, status func() int) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(paths.Socket()), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", paths.Socket())
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status())
		_, _ = w.Write([]byte("{}"))
	})}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
}

// unavailable is a status that is not OK until it was asked for three times.
func unavailable() func() int {
	var asked atomic.Int64
	return func() int {
		if asked.Add(1) <= 3 {
			return http.StatusServiceUnavailable
		}
		return http.StatusOK
	}
}

// A service that has the state directory and does not answer yet is waited for, and so
// is whoever else would start one: of those, one has its turn at a time. None is started
// beside it.
func TestWhoStartsAServiceIsWaitedFor(t *testing.T) {
	for name, lock := range map[string]func() string{"a service that starts": paths.Lock, "somebody who starts one": paths.StartLock} {
		t.Run(name, func(t *testing.T) {
			ownPaths(t)
			unlock, err := private.Lock(lock(), 0)
			if err != nil {
				t.Fatal(err)
			}
			defer unlock()
			answer(t, unavailable())
			if err := cli.StartService(t.Context(), client.New(paths.Socket())); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(paths.ServiceLog()); !errors.Is(err, fs.ErrNotExist) {
				t.Error("one was started beside it:", err)
			}
		})
	}
}

func TestAServiceThatDoesNotStart(t *testing.T) {
	for status, times := range map[string]int{
		"2": 1, // it said why
		"5": 3, // another one had the state directory, and is gone
	} {
		ownPaths(t)
		t.Setenv(serveStatus, status)
		err := cli.StartService(t.Context(), client.New(paths.Socket()))
		if durward.KindOf(err) != durward.Unavailable || err == nil || !strings.Contains(err.Error(), "it does not start") {
			t.Error(err)
		}
		log, err := os.ReadFile(paths.ServiceLog())
		if err != nil || strings.Count(string(log), "it does not start") != times {
			t.Errorf("exit status %s: %v, started as often as this says, wanted %d times:\n%s", status, err, times, log)
		}
	}
}
