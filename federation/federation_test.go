package federation_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"durward"
	"durward/federation"
	"durward/internal/launch"
	"durward/internal/testkit/hostile"
)

func TestMain(m *testing.M) {
	launch.MaybeInit()
	if hostile.Asked() {
		hostile.Main()
	}
	os.Exit(m.Run())
}

func server(name string, flags ...string) durward.Server {
	command, args := hostile.Command(flags...)
	return durward.Server{Name: name, Command: command, Args: args}
}

func start(t *testing.T, servers ...durward.Server) *federation.Federation {
	t.Helper()
	f, err := federation.New(federation.Options{Servers: servers, Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	ready(t, f)
	return f
}

// ready waits until all servers are ready, and so listed: one that is held up between
// two of its lists is offered without the rest for a while.
func ready(t *testing.T, f *federation.Federation) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) { // states are not told
		all := f.Servers()
		if !slices.ContainsFunc(all, func(s durward.ServerStatus) bool { return s.State != durward.StateReady }) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%+v", all)
		}
	}
}

func TestForeignToolsAreCalledLikeNativeOnes(t *testing.T) {
	f := start(t, server("a"), server("b"))
	seen := map[string]federation.Tool{}
	for _, tool := range f.Tools(t.Context()) {
		seen[tool.Name] = tool
	}
	if echo := seen["a__echo"]; echo.Server != "a" || echo.Native != "echo" || echo.Risk != durward.RiskHigh || !strings.Contains(string(echo.Raw), `"inputSchema"`) {
		t.Errorf("%+v", echo)
	}
	r, err := f.Call(t.Context(), "b__echo", []byte(`{"text":"hello"}`))
	if err != nil || !strings.Contains(string(r.Raw), `"hello"`) || r.IsError {
		t.Errorf("%s %v", r.Raw, err)
	}
	if r, err := f.Call(t.Context(), "a__fail", nil); err != nil || !r.IsError {
		t.Errorf("%s %v", r.Raw, err)
	}
}

func TestErrorsOfCalls(t *testing.T) {
	f := start(t, server("a"))
	var call *federation.CallError
	if _, err := f.Call(t.Context(), "a__rpcerror", nil); !errors.As(err, &call) || call.Code() != -32000 {
		t.Errorf("the server's error: %v", err)
	}
	if _, err := f.Call(t.Context(), "a__nope", nil); durward.KindOf(err) != durward.NotFound {
		t.Errorf("unknown tool: %v", err)
	}
	for _, arguments := range []string{`{`, `{"a":1,"a":2}`, `[]x`} {
		if _, err := f.Call(t.Context(), "a__echo", []byte(arguments)); durward.KindOf(err) != durward.Invalid {
			t.Errorf("arguments %s: %v", arguments, err)
		}
	}
}

func TestServersComeAndGo(t *testing.T) {
	f := start(t, server("a"))
	changed := make(chan struct{}, 100)
	defer f.OnChange(func() { changed <- struct{}{} })()
	if err := f.Add(server("a")); durward.KindOf(err) != durward.Conflict {
		t.Errorf("a name twice: %v", err)
	}
	if err := f.Add(server("Bad")); durward.KindOf(err) != durward.Invalid {
		t.Errorf("a bad name: %v", err)
	}
	if err := f.Add(server("b")); err != nil {
		t.Fatal(err)
	}
	ready(t, f)
	if _, err := f.Call(t.Context(), "b__echo", nil); err != nil {
		t.Error(err)
	}
	<-changed
	if err := f.Remove("b"); err != nil {
		t.Error(err)
	}
	if _, err := f.Call(t.Context(), "b__echo", nil); durward.KindOf(err) != durward.NotFound {
		t.Errorf("removed: %v", err)
	}
	if err := f.Remove("b"); durward.KindOf(err) != durward.NotFound {
		t.Errorf("removed twice: %v", err)
	}
	if s := f.Servers(); len(s) != 1 || s[0].State != durward.StateReady {
		t.Errorf("%+v", s)
	}
}
