package gateway_test

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"durward"
	"durward/gateway"
	"durward/internal/testkit/rawclient"
)

// Process trees are held together on Linux only; see the README.
func TestB6_NoDescendantSurvivesClose(t *testing.T) {
	opt := gateway.Options{Servers: []durward.Server{hostileServer("h")}}
	opt.Access.NoAuth = true
	g, err := gateway.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(g.Handler())
	defer web.Close()
	(&running{g, web.URL}).await(t, "h", isReady)
	inside := call(t, &rawclient.Client{URL: web.URL + "/mcp", Modern: true}, "h__fork", `{}`).Text()
	lingering := lingerers(t)
	if len(lingering) == 0 {
		t.Fatalf("no grandchild runs (it said pid %s): this test would prove nothing", inside)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	for _, pid := range lingering {
		if syscall.Kill(pid, 0) == nil {
			t.Errorf("the grandchild %d is still there after Close", pid)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// lingerers returns the pids of this test binary's hostile grandchildren.
func lingerers(t *testing.T) []int {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		line, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline")) // gone meanwhile: empty
		if strings.HasPrefix(string(line), self) && strings.Contains(string(line), "grandchild") {
			pids = append(pids, pid)
		}
	}
	return pids
}
