package main_test

import (
	"database/sql"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	_ "modernc.org/sqlite"

	"durward/internal/private"
)

// The scripts run the real binaries: durward, and an honest little MCP server.
func TestScripts(t *testing.T) {
	bin := filepath.Dir(buildDurward(t))
	built.path(t, "echo-server", "../../bench/echo")
	built.path(t, "kinds-server", "./testdata/kinds")
	for _, name := range []string{"codenames", "hostile"} {
		cmd := exec.Command("go", "build", "-buildmode=c-shared", "-o", filepath.Join(bin, name+".wasm"), "../../internal/plugin/testdata/wasm/"+name)
		cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOFLAGS=")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	policies, err := filepath.Abs("../../docs/policies")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", bin+string(os.PathListSeparator)+env.Getenv("PATH"))
			env.Setenv("POLICIES", policies)
			env.Setenv("PLUGINS", bin)
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, "config"))
			env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, "state"))
			// Unix socket paths are short; the work directory's may be too long.
			run, err := os.MkdirTemp("", "dw")
			if err != nil {
				return err
			}
			env.Setenv("XDG_RUNTIME_DIR", run)
			env.Defer(func() {
				end(filepath.Join(bin, "durward"), env.Vars)
				_ = os.RemoveAll(run)
			})
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"await": await, "completes": completes, "end-service": endService, "json-lines": jsonLines, "tamper": tamper,
		},
	})
}

// await FILE waits until a file is there; ! await until it is gone.
func await(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: await FILE")
	}
	path := ts.MkAbs(args[0])
	deadline := time.Now().Add(time.Minute)
	for time.Now().Before(deadline) {
		if _, err := os.Stat(path); (err == nil) != neg {
			return
		}
		time.Sleep(10 * time.Millisecond) // a file cannot be waited for
	}
	ts.Fatalf("%s: waited too long", args[0])
}

// end-service ends the service that runs with this script's state directory, and
// waits until another one can start: it holds its lock to its very end, which is some
// time after it answers no more.
func endService(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Check(ts.Exec("sh", "-c", `kill "$(durward status --json | sed 's/.*"pid":\([0-9]*\).*/\1/')"`))
	unlock, err := private.Lock(filepath.Join(ts.Getenv("XDG_STATE_HOME"), "durward", "service.lock"), time.Minute)
	ts.Check(err)
	ts.Check(unlock())
}

// completes REGEXP WORD… waits until the shell is offered what matches. Asked once, the
// service may be too busy: a shell is answered within two seconds, or not at all.
func completes(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 || neg {
		ts.Fatalf("usage: completes REGEXP WORD…")
	}
	wanted, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		ts.Check(ts.Exec("durward", append([]string{"__complete"}, args[1:]...)...))
		if wanted.MatchString(ts.ReadFile("stdout")) {
			return
		}
	}
	ts.Fatalf("%s is not offered", args[0])
}

// json-lines FILE checks that each line of a file, or of stdout, is a JSON object,
// and that there is one.
func jsonLines(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: json-lines FILE")
	}
	lines := 0
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		var object map[string]any
		ts.Check(json.Unmarshal([]byte(line), &object))
		lines++
	}
	if lines == 0 {
		ts.Fatalf("%s: no line", args[0])
	}
}

// tamper FILE SQL changes a ledger as somebody would who knows what it is.
func tamper(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: tamper FILE SQL")
	}
	db, err := sql.Open("sqlite", ts.MkAbs(args[0]))
	ts.Check(err)
	result, err := db.Exec(args[1])
	ts.Check(err)
	if n, err := result.RowsAffected(); err != nil || n != 1 {
		ts.Fatalf("%s: %d rows, %v", args[1], n, err)
	}
	ts.Check(db.Close())
}

// end ends the service that a script which failed left running.
func end(durward string, env []string) {
	status := exec.Command(durward, "status", "--json")
	status.Env = env
	out, err := status.Output()
	var is struct{ PID int }
	if err != nil || json.Unmarshal(out, &is) != nil || is.PID == 0 {
		return // none runs
	}
	if p, err := os.FindProcess(is.PID); err == nil {
		_ = p.Signal(os.Interrupt) // it may have ended by itself
	}
}
