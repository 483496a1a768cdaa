package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"durward"
	"durward/gateway"
)

// sessionGate notes sessions as well.
type sessionGate struct{ gate }

func (g *sessionGate) SessionBegan(c durward.Caller, r durward.Route) {
	g.note("began " + string(c.Session) + " " + c.Principal + " " + c.Client.Name + " " + r.String())
}

func (g *sessionGate) SessionEnded(c durward.Caller, reason string) {
	g.note("ended " + string(c.Session) + " " + reason)
}

func only(notes, kind string) (found []string) {
	for _, n := range strings.Split(notes, "\n") {
		if strings.HasPrefix(n, kind) {
			found = append(found, n)
		}
	}
	return found
}

func TestSessionsAreWrittenDown(t *testing.T) {
	g := &sessionGate{}
	r := ready(t, gateway.Options{Servers: []durward.Server{hostileServer("h")}, Decider: &gate{}, Recorder: g})
	first, second := r.legacy(t, "/mcp"), r.legacy(t, "/servers/h/mcp")
	do(t, r.modern("/mcp"), "tools/list", "{}")
	began := only(g.taken(), "began ")
	if len(began) != 2 || !strings.HasSuffix(began[0], " /mcp") || !strings.HasSuffix(began[1], " /servers/h/mcp") {
		t.Fatalf("%q", began)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, first.URL, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Mcp-Session-Id", first.Session)
	if _, err := first.Raw(req); err != nil {
		t.Fatal(err)
	}
	id := strings.Fields(began[0])[1]
	if ended := only(g.taken(), "ended "); len(ended) != 1 || !strings.HasPrefix(ended[0], "ended "+id+" the client ended it") {
		t.Errorf("%q", ended)
	}
	do(t, second, "tools/list", "{}")
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	id = strings.Fields(began[1])[1]
	if ended := only(g.taken(), "ended "); len(ended) != 1 || !strings.HasPrefix(ended[0], "ended "+id+" the service ended") {
		t.Errorf("%q", ended)
	}
}
