package gateway_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"durward"
	"durward/gateway"
	"durward/internal/testkit/rawclient"
	"durward/internal/wire"
)

// missing returns what a list says of the servers that are not there.
func missing(a *rawclient.Answer) string {
	return string(wire.Get(wire.Get(a.Msg.Result, "_meta"), "dev.durward/missing"))
}

func TestB1_SilentServerDelaysNobody(t *testing.T) {
	silent := hostileServer("silent", "-start", "silent")
	silent.StartTimeout = time.Hour
	g := start(t, gateway.Options{Servers: []durward.Server{silent, hostileServer("good")}})
	g.await(t, "good", isReady)
	for era, c := range g.clients(t, "/mcp") {
		a := do(t, c, "tools/list", `{}`)
		if !strings.Contains(string(a.Msg.Result), `"good__echo"`) {
			t.Errorf("%s: the healthy server is not listed: %s", era, a.Msg.Result)
		}
		if m := missing(a); !strings.Contains(m, `"silent"`) || !strings.Contains(m, `"connecting"`) {
			t.Errorf("%s: the list does not say that the silent server is missing: %s", era, m)
		}
		if a := call(t, c, "good__echo", `{"text":"x"}`); a.Text() != "x" {
			t.Errorf("%s: %s", era, a.Msg.Error)
		}
	}
	if s := g.await(t, "silent", func(durward.ServerStatus) bool { return true }); s.State != durward.StateConnecting {
		t.Errorf("the silent server settled as %s: this test proved nothing", s.State)
	}
}

func TestB2_MissingAndCrashingServersLeaveOthersUsable(t *testing.T) {
	g := start(t, gateway.Options{Servers: []durward.Server{
		{Name: "missing", Command: "/nonexistent/mcp-server"}, hostileServer("crash", "-start", "crash"),
		{Name: "refused", URL: "http://127.0.0.1:1/mcp"}, hostileServer("good"),
	}})
	g.await(t, "good", isReady)
	for _, name := range []string{"missing", "crash", "refused"} {
		s := g.await(t, name, func(s durward.ServerStatus) bool { return s.State == durward.StateBackoff })
		if s.Reason == "" || s.NextTry.IsZero() {
			t.Errorf("%s: no reason or no next attempt: %+v", name, s)
		}
	}
	c := g.modern("/mcp")
	a := do(t, c, "tools/list", `{}`)
	for _, name := range []string{"missing", "crash", "refused"} {
		if !strings.Contains(missing(a), name) {
			t.Errorf("the list does not name %s: %s", name, missing(a))
		}
	}
	if a := call(t, c, "good__echo", `{"text":"x"}`); a.Text() != "x" {
		t.Error(string(a.Msg.Error))
	}
}

func TestB5_DeadServerIsReplacedForTheNextCall(t *testing.T) {
	g := ready(t, gateway.Options{Servers: []durward.Server{hostileServer("h")}})
	c := g.modern("/mcp")
	if a := call(t, c, "h__die", `{}`); a.Code() != wire.CodeUnknownOutcome {
		t.Errorf("the call that killed the server: %s", a.Msg.Error)
	}
	if a := call(t, c, "h__echo", `{"text":"again"}`); a.Text() != "again" {
		t.Errorf("the next call: %s", a.Msg.Error)
	}
}

func TestB5_HungServerIsReplaced(t *testing.T) {
	s := hostileServer("h")
	s.HealthEvery = 400 * time.Millisecond
	g := start(t, gateway.Options{Servers: []durward.Server{s}})
	c := g.modern("/mcp")
	// On a machine that is busy a server may look hung that is not, and be replaced
	// before it has a call, or, later, with one.
	repeat := func(tool, arguments string, while func(*rawclient.Answer) bool) (a *rawclient.Answer) {
		for end := time.Now().Add(5 * time.Minute); ; {
			if a = call(t, c, tool, arguments); !while(a) || time.Now().After(end) {
				return a
			}
		}
	}
	if a := repeat("h__wedge", `{}`, func(a *rawclient.Answer) bool { return a.Code() == wire.CodeUnavailable }); a.Code() != wire.CodeUnknownOutcome {
		t.Errorf("the call that wedged the server: %s %s", a.Msg.Result, a.Msg.Error)
	}
	if a := repeat("h__echo", `{"text":"again"}`, func(a *rawclient.Answer) bool { return a.Msg.Error != nil }); a.Text() != "again" {
		t.Errorf("the next call: %s", a.Msg.Error)
	}
}

func TestB7_NoiseHarmsNothingAndIsCounted(t *testing.T) {
	g := ready(t, gateway.Options{Servers: []durward.Server{hostileServer("h", "-start", "noise")}})
	for era, c := range g.clients(t, "/mcp") {
		if a := call(t, c, "h__noise", `{}`); a.Text() != "quiet again" {
			t.Errorf("%s: %s", era, a.Msg.Error)
		}
		if a := call(t, c, "h__badutf8", `{}`); a.Text() != "a\ufffdb" {
			t.Errorf("%s: %q %s", era, a.Text(), a.Msg.Error)
		}
		const size = 16 << 20
		if a := call(t, c, "h__big", `{"n":16777216}`); len(a.Text()) != size {
			t.Errorf("%s: %d bytes of %d came back; %s", era, len(a.Text()), size, a.Msg.Error)
		}
	}
	g.await(t, "h", func(s durward.ServerStatus) bool {
		return s.Anomalies["stdout-text"] > 0 && s.Anomalies["invalid-utf8"] > 0
	})
}

func TestB8_OversizedResultIsRefusedWhole(t *testing.T) {
	g := ready(t, gateway.Options{Servers: []durward.Server{hostileServer("h")}, Limits: gateway.Limits{Message: 1 << 20}})
	for era, c := range g.clients(t, "/mcp") {
		a := call(t, c, "h__big", `{"n":2000000}`)
		if a.Msg.Result != nil || !strings.Contains(a.Message(), "limits.message") {
			t.Errorf("%s: %d bytes of result, %s", era, len(a.Msg.Result), a.Msg.Error)
		}
		if a := call(t, c, "h__echo", `{"text":"x"}`); a.Text() != "x" {
			t.Errorf("%s: the server is unusable after an oversized result: %s", era, a.Msg.Error)
		}
	}
}

func TestB16_RefusedCredentialsAreNoOutage(t *testing.T) {
	locked := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	defer locked.Close()
	g := start(t, gateway.Options{Servers: []durward.Server{{Name: "locked", URL: locked.URL + "/mcp"}, hostileServer("h")}})
	s := g.await(t, "locked", func(s durward.ServerStatus) bool { return s.State == durward.StateBackoff })
	if !strings.Contains(s.Reason, "401") {
		t.Errorf("the reason does not tell refused credentials from an outage: %s", s.Reason)
	}
	g.await(t, "h", isReady)
	for era, c := range g.clients(t, "/mcp") {
		if a := call(t, c, "h__rpcerror", `{}`); a.Status >= 500 || a.Code() != -32000 {
			t.Errorf("%s: status %d, %s", era, a.Status, a.Msg.Error)
		}
	}
}

func TestB26_StderrIsShownWhereTheFailureIs(t *testing.T) {
	g := start(t, gateway.Options{Servers: []durward.Server{hostileServer("crash", "-start", "crash")}})
	s := g.await(t, "crash", func(s durward.ServerStatus) bool { return s.State == durward.StateBackoff })
	const said = "cannot open the database"
	if !strings.Contains(s.Reason, said) {
		t.Errorf("status: %s", s.Reason)
	}
	a := do(t, g.modern("/mcp"), "tools/list", `{}`)
	if !strings.Contains(missing(a), said) {
		t.Errorf("list: %s", missing(a))
	}
	for route, tool := range map[string]string{"/mcp": "crash__echo", "/servers/crash/mcp": "echo"} {
		if a := call(t, g.modern(route), tool, `{}`); a.Code() != wire.CodeUnavailable || !strings.Contains(a.Message(), said) {
			t.Errorf("call on %s: %s", route, a.Msg.Error)
		}
	}
}

func TestB27_StateLivesFromCallToCall(t *testing.T) {
	g := ready(t, gateway.Options{Servers: []durward.Server{hostileServer("h")}})
	for era, c := range g.clients(t, "/mcp") {
		call(t, c, "h__set", `{"name":"`+era+`","text":"kept"}`)
		if a := call(t, c, "h__get", `{"name":"`+era+`"}`); a.Text() != "kept" {
			t.Errorf("%s: %q", era, a.Text())
		}
	}
}

func TestB28_EnvironmentAndArgumentsAreExact(t *testing.T) {
	const odd = "a b\t\"c\" 'd' $HOME `e` \\ ü\nnext; rm -rf *"
	s := hostileServer("h", "-counter", "", odd, "", "$X")
	s.Env = map[string]string{"ODD": odd, "EMPTY": ""}
	t.Setenv("DURWARD_TEST_SECRET", "must not be inherited")
	g := ready(t, gateway.Options{Servers: []durward.Server{s}})
	c := g.modern("/mcp")
	if a := call(t, c, "h__env", `{"name":"ODD"}`); a.Text() != "true:"+odd {
		t.Errorf("environment: %q", a.Text())
	}
	if a := call(t, c, "h__env", `{"name":"EMPTY"}`); a.Text() != "true:" {
		t.Errorf("empty variable: %q", a.Text())
	}
	want := `["-counter","",` + wire.Quote(odd) + `,"","$X"]`
	if a := call(t, c, "h__args", `{}`); a.Text() != want {
		t.Errorf("arguments: %s, wanted %s", a.Text(), want)
	}
	if a := call(t, c, "h__env", `{"name":"DURWARD_TEST_SECRET"}`); a.Text() != "false:" {
		t.Errorf("the service's environment leaked: %q", a.Text())
	}
}

func TestB30_FailingToolMarksNoServerAsDown(t *testing.T) {
	g := start(t, gateway.Options{Servers: []durward.Server{hostileServer("h")}})
	c := g.modern("/mcp")
	before := g.await(t, "h", isReady)
	for range 20 {
		call(t, c, "h__fail", `{}`)
		call(t, c, "h__rpcerror", `{}`)
	}
	after := g.await(t, "h", func(durward.ServerStatus) bool { return true })
	if after.State != durward.StateReady || after.Restarts != before.Restarts || !after.Since.Equal(before.Since) {
		t.Errorf("before %+v, after %+v", before, after)
	}
	if a := call(t, c, "h__fail", `{}`); !a.Msg.IsError || a.Text() != "it did not work" {
		t.Errorf("the failure did not come through: %s %s", a.Msg.Result, a.Msg.Error)
	}
}
