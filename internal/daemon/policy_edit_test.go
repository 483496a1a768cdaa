package daemon_test

import (
	"fmt"
	"strings"
	"testing"

	"durward"
	"durward/client"
	"durward/internal/paths"
	"durward/internal/testkit/rawclient"
	"durward/internal/wire"
	"durward/ledger"
)

// entrances are clients of every entrance and era, by name: each returns whether the
// tool is listed, and the code of a call of it.
func (d *desk) entrances(t *testing.T) map[string]func() (listed bool, code int) {
	t.Helper()
	out := map[string]func() (bool, int){}
	for _, path := range []string{"/mcp", "/servers/local/mcp", "/toolsets/some/mcp"} {
		name := "local__echo"
		if strings.Contains(path, "servers") {
			name = "echo"
		}
		for _, modern := range []bool{true, false} {
			c := &rawclient.Client{URL: "http://" + d.Address() + path, Token: token(t), Modern: modern}
			if !modern {
				if _, err := c.Initialize(t.Context(), `{}`); err != nil {
					t.Fatal(err)
				}
			}
			out[fmt.Sprintf("%s modern=%v", path, modern)] = func() (bool, int) {
				list, err := c.Do(t.Context(), "tools/list", "{}")
				if err != nil {
					t.Fatal(err)
				}
				a, err := c.CallTool(t.Context(), name, `{"message":"x"}`)
				if err != nil {
					t.Fatal(err)
				}
				return strings.Contains(string(list.Msg.Result), `"`+name+`"`), a.Code()
			}
		}
	}
	for _, modern := range []bool{true, false} {
		c := newLined(t, durward.Route{}, modern)
		out[fmt.Sprintf("stdio modern=%v", modern)] = func() (bool, int) {
			list := c.do(t, "tools/list", "{}")
			m := c.do(t, "tools/call", `{"name":"local__echo","arguments":{"message":"x"}}`)
			code, _ := wire.ErrorCode(m.Error)
			return strings.Contains(string(list.Result), `"local__echo"`), code
		}
	}
	return out
}

// When an edit returns every client is decided by the new rules, whichever way it came
// and however long it has been there. An edit that is not sound changes nothing.
func TestAnEditIsInForceWhenItReturns(t *testing.T) {
	d := newDesk(t, noServers+"api: {listen: 127.0.0.1:0}\ntoolsets: {some: {tools: [local__echo]}}\n")
	ctx, all := t.Context(), d.entrances(t)
	expect := func(what string, listed bool, code int) {
		t.Helper()
		for name, try := range all {
			if l, c := try(); l != listed || c != code {
				t.Errorf("%s, %s: listed %v, code %d; wanted %v, %d", what, name, l, c, listed, code)
			}
		}
	}
	expect("before", true, 0)
	steps := []struct {
		what   string
		edit   func() (*client.PolicyEdit, error)
		listed bool
		code   int
	}{
		{"tool block", func() (*client.PolicyEdit, error) {
			return d.approver.SetToolAction(ctx, client.ToolAction{Server: "local", Tool: "echo", Action: "block"})
		}, false, wire.CodeRefused},
		{"tool ask", func() (*client.PolicyEdit, error) {
			return d.approver.SetToolAction(ctx, client.ToolAction{Server: "local", Tool: "echo", Action: "ask"})
		}, true, wire.CodeDeniedByPerson}, // nobody is there
		{"tool allow", func() (*client.PolicyEdit, error) {
			return d.approver.SetToolAction(ctx, client.ToolAction{Server: "local", Tool: "echo", Action: "allow"})
		}, true, 0},
		{"rule about arguments", func() (*client.PolicyEdit, error) {
			return d.approver.AddRule(ctx, client.NewRule{Text: "{id: no-x, tools: [echo], when: 'mcp.tool.arguments.message == \"x\"', action: block}"})
		}, true, wire.CodeRefused},
		{"rule", func() (*client.PolicyEdit, error) {
			return d.approver.AddRule(ctx, client.NewRule{Text: "{id: no-echo, tools: [echo], action: block}"})
		}, false, wire.CodeRefused},
	}
	var edits []*client.PolicyEdit
	for _, step := range steps {
		edit, err := step.edit()
		if err != nil {
			t.Fatalf("%s: %v", step.what, err)
		}
		edits = append(edits, edit)
		expect(step.what, step.listed, step.code)
		if now, err := d.owner.PolicyRules(ctx); err != nil || now.Digest != edit.New || edit.Old == edit.New {
			t.Errorf("%s: %+v %+v %v", step.what, edit, now, err)
		}
	}
	if _, err := d.approver.AddRule(ctx, client.NewRule{Text: "{id: bad, when: 'mcp.tool.argument.x == 1', action: allow}"}); durward.KindOf(err) != durward.Invalid || !strings.Contains(err.Error(), "mcp.tool.arguments") {
		t.Error(err)
	}
	expect("a broken rule", false, wire.CodeRefused)
	last := d.legacy(t)
	if p, err := d.owner.EffectivePolicy(ctx, sessionOf(t, d)); err != nil || p.Digest != edits[len(edits)-1].New || p.SessionDigest == "" {
		t.Errorf("%+v %v, session %q", p, err, last.Session)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d.recorded(t, edits)
}

// sessionOf returns the session that began last.
func sessionOf(t *testing.T, d *desk) durward.SessionID {
	t.Helper()
	calls, err := d.owner.Calls(t.Context(), client.CallFilter{Limit: 50})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range calls.Calls {
		if c.Session != "" {
			return c.Session
		}
	}
	t.Fatal("no session is on record")
	return ""
}

// recorded checks that each edit is on record with its hashes and who made it, and
// that each session says under which policy it began.
func (d *desk) recorded(t *testing.T, edits []*client.PolicyEdit) {
	t.Helper()
	all := records(t)
	var made []*ledger.Change
	for _, c := range changesIn(all) {
		if c.What == "rule add" || strings.HasPrefix(c.What, "tool ") {
			made = append(made, c)
		}
	}
	if len(made) != len(edits) {
		t.Fatalf("%d edits are on record, %d were made", len(made), len(edits))
	}
	for _, c := range made {
		if c.OldHash == "" || c.NewHash == "" || c.OldHash == c.NewHash || !strings.Contains(c.Who, "with the approver credential") {
			t.Errorf("%+v", c)
		}
	}
	known := map[string]bool{edits[0].Old: true}
	for _, e := range edits {
		known[e.New] = true
	}
	sessions := map[string]int{}
	for _, r := range all {
		if s, ok := r.(*ledger.SessionStart); ok {
			sessions[s.Policy]++
			if !known[s.Policy] {
				t.Errorf("a session began under %q", s.Policy)
			}
		}
	}
	if sessions[edits[0].Old] == 0 || sessions[edits[len(edits)-1].New] == 0 {
		t.Errorf("%v", sessions)
	}
}

// Who makes calls does not change the rules about them: not the owner of the socket
// without the approver credential, and not a token of the service API.
func TestWhoCallsCannotChangeTheRules(t *testing.T) {
	d := newDesk(t, asking)
	ctx := t.Context()
	tcp := func(secret string) *client.Client {
		c, err := client.NewTCP(d.api, secret)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	ask := client.ExplainRequest{Server: "local", Tool: "echo"}
	before, err := d.owner.PolicyRules(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]*client.Client{"the owner": d.owner, "operate": tcp(tokenIn(t, paths.APIToken())), "read": tcp(tokenIn(t, paths.APIReadToken()))} {
		for what, err := range map[string]error{
			"tool allow": second(c.SetToolAction(ctx, client.ToolAction{Server: "local", Tool: "echo", Action: "allow"})),
			"rule add":   second(c.AddRule(ctx, client.NewRule{Text: "{id: open, tools: [echo], action: allow}"})),
		} {
			if durward.KindOf(err) != durward.Denied || err == nil || !strings.Contains(err.Error(), "approver-token") {
				t.Errorf("%s by %s: %v", what, name, err)
			}
		}
		if _, err := c.ExplainPolicy(ctx, ask); (err == nil) != (name != "read") {
			t.Errorf("explain by %s: %v", name, err)
		}
	}
	if now, err := d.owner.PolicyRules(ctx); err != nil || now.Digest != before.Digest {
		t.Errorf("%+v %v", now, err)
	}
	for _, c := range []*client.Client{d.approver, tcp(tokenIn(t, paths.ApproverToken()))} {
		if _, err := c.SetToolAction(ctx, client.ToolAction{Server: "local", Tool: "echo", Action: "block"}); err != nil {
			t.Error(err)
		}
		if x, err := c.ExplainPolicy(ctx, ask); err != nil || x.Rule != "echoes" {
			t.Errorf("%+v %v", x, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }
