package gateway_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"durward"
	"durward/gateway"
	"durward/internal/testkit/rawclient"
	"durward/internal/wire"
)

// longList is a server whose tools do not fit on one page.
func longList(t *testing.T, name string) durward.Server {
	t.Helper()
	var items []string
	for i := range 10 {
		items = append(items, `{"name":"t`+string(rune('0'+i))+`","inputSchema":{"type":"object","description":"`+strings.Repeat("x", 1000<<10)+`"}}`)
	}
	file := filepath.Join(t.TempDir(), "items")
	if err := os.WriteFile(file, []byte(strings.Join(items, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	return hostileServer(name, "-list", "fidelity", "-items", file)
}

func hasTen(s durward.ServerStatus) bool { return isReady(s) && s.Tools == 10 }

func nextCursor(t *testing.T, c *rawclient.Client) string {
	t.Helper()
	a := do(t, c, "tools/list", `{}`)
	cursor, _ := wire.Unquote(wire.Get(a.Msg.Result, "nextCursor"))
	if cursor == "" {
		t.Fatalf("there is no second page: status %d, %.500s %s", a.Status, a.Msg.Result, a.Msg.Error)
	}
	return cursor
}

func TestCursorsAreSealed(t *testing.T) {
	first := durward.NewSealKey()
	r := start(t, gateway.Options{
		Servers: []durward.Server{longList(t, "h")}, Access: twoPrincipals(), SealKeys: []durward.SealKey{first},
		Toolsets: []durward.Toolset{{Name: "some", Tools: []string{"*"}}},
	})
	r.await(t, "h", hasTen)
	alice := r.tasker("/mcp", aliceSecret)
	cursor := nextCursor(t, alice)
	page := func(c *rawclient.Client, cursor string) *rawclient.Answer {
		t.Helper()
		return do(t, c, "tools/list", `{"cursor":`+wire.Quote(cursor)+`}`)
	}
	for what, c := range map[string]*rawclient.Client{
		"the same client": alice, "the same principal in the other era": r.sessionOf(t, "/mcp", aliceSecret),
	} {
		if a := page(c, cursor); a.Msg.Error != nil || !strings.Contains(string(a.Msg.Result), `"h__t9"`) || strings.Contains(string(a.Msg.Result), `"h__t0"`) {
			t.Errorf("%s: %.200s %s", what, a.Msg.Result, a.Msg.Error)
		}
	}
	refused := func(what string, c *rawclient.Client, cursor string) {
		t.Helper()
		if a := page(c, cursor); a.Code() != wire.CodeInvalidParams || a.Status != http.StatusBadRequest || !strings.Contains(a.Message(), "list again without a cursor") {
			t.Errorf("%s: status %d, %.200s %s", what, a.Status, a.Msg.Result, a.Msg.Error)
		}
	}
	refused("another principal", r.tasker("/mcp", bobSecret), cursor)
	refused("the server's own route", r.tasker("/servers/h/mcp", aliceSecret), cursor)
	refused("a toolset", r.tasker("/toolsets/some/mcp", aliceSecret), cursor)
	refused("garbage", alice, "x")
	for i := range cursor {
		if i%9 == 0 {
			refused("changed", alice, cursor[:i]+flip(cursor[i])+cursor[i+1:])
		}
	}
	if a := do(t, alice, "tools/list", `{"cursor":7}`); a.Code() != wire.CodeInvalidParams {
		t.Errorf("a number: %.200s %s", a.Msg.Result, a.Msg.Error)
	}
	second := durward.NewSealKey()
	if err := r.SetSealKeys([]durward.SealKey{second, first}); err != nil {
		t.Fatal(err)
	}
	if a := page(alice, cursor); a.Msg.Error != nil {
		t.Errorf("of the key before: %s", a.Msg.Error)
	}
	if err := r.SetSealKeys([]durward.SealKey{second}); err != nil {
		t.Fatal(err)
	}
	refused("of a retired key", alice, cursor)
}
