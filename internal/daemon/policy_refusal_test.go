package daemon_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"durward/internal/testkit/rawclient"
	"durward/internal/wire"
)

const refusing = `version: 1
listen: 127.0.0.1:0
limits: {ledger_wait: 1m}
auth: none
policy:
  approvals: {attended: true, desktop: "off"}
  rules:
    - {id: neutral, on: [tools/call], when: mcp.tool.arguments.message == "neutral", action: block, reason: a secret reason}
    - {id: told, on: [tools/call], when: mcp.tool.arguments.message == "told", action: block, disclose: id, reason: a secret reason}
    - {id: slow, on: [tools/call], when: mcp.tool.arguments.message == "slow", action: ask, ask: {timeout: 1s}, reason: a secret reason}
    - {id: twice, on: [tools/call], when: mcp.tool.arguments.message == "twice", action: block, limit: {calls: 1, per: 1h}, reason: a secret reason}
    - {id: broken, on: [tools/call], when: 'mcp.tool.arguments.message == "broken" && 1 / int(size(mcp.tool.arguments) - 1) > 0', action: block, reason: a secret reason}
    - {id: result, on: [tools/call], phase: response, when: 'mcp.result.text == "result"', action: block, reason: a secret reason}
`

// again is what the text of a refusal says of a limit of an hour.
var again = regexp.MustCompile(`may be made again in (1h0m0s|5\dm\d+s)$`)

// What an agent learns of a refusal, in both eras, as an error and as a result: a code, a
// word, and nothing that was meant for the operator.
func TestWhatAgentsLearnOfRefusals(t *testing.T) {
	for _, form := range []string{"error", "result"} {
		t.Run(form, func(t *testing.T) {
			home(t)
			s := started(t, configured(t, strings.Replace(refusing, "policy:\n", "policy:\n  refusal: "+form+"\n", 1)))
			for _, modern := range []bool{true, false} {
				c := &rawclient.Client{URL: "http://" + s.Address() + "/mcp", Modern: modern}
				if !modern {
					if _, err := c.Initialize(t.Context(), `{}`); err != nil {
						t.Fatal(err)
					}
				}
				learns(t, c, form == "result")
			}
		})
	}
}

func learns(t *testing.T, c *rawclient.Client, asResult bool) {
	t.Helper()
	for _, tt := range []struct {
		message, reason, rule string
		code                  int
	}{
		{"fine", "", "", 0},
		{"neutral", "rule", "", wire.CodeRefused},
		{"told", "rule", "told", wire.CodeRefused},
		{"slow", "expired", "", wire.CodeApprovalTimeout},
		{"broken", "evaluation", "", wire.CodeRefused},
		{"result", "rule", "", wire.CodeRefused},
		{"twice", "", "", 0},
		{"twice", "limit", "", wire.CodeRateLimited},
	} {
		a, err := c.CallTool(t.Context(), "local__echo", `{"message":"`+tt.message+`"}`)
		if err != nil {
			t.Fatal(err)
		}
		all := string(a.Msg.Result) + string(a.Msg.Error)
		if strings.Contains(all, "secret reason") {
			t.Errorf("%s: the agent learns the operator's reason: %s", tt.message, all)
		}
		if tt.message == "twice" && tt.code == 0 && strings.Contains(all, "over a limit") {
			continue // the other era was first
		}
		if asResult && tt.code != 0 {
			if string(wire.Get(a.Msg.Result, "isError")) != "true" || a.Text() == "" || strings.Contains(a.Text(), tt.message) {
				t.Errorf("%s: %s", tt.message, all)
			}
			if tt.reason == "limit" && !again.MatchString(a.Text()) {
				t.Errorf("the model does not learn when it may call again: %s", all)
			}
			continue
		}
		checkRefusal(t, a, tt.message, tt.reason, tt.rule, tt.code)
	}
}

func checkRefusal(t *testing.T, a *rawclient.Answer, message, reason, rule string, code int) {
	t.Helper()
	if code == 0 {
		if a.Text() != message && !(message == "twice" && a.Code() == wire.CodeRateLimited) {
			t.Errorf("%s: %s %s", message, a.Msg.Result, a.Msg.Error)
		}
		return
	}
	var data struct {
		Reason       string `json:"reason"`
		Rule         string `json:"rule"`
		RetryAfterMs int64  `json:"retryAfterMs"`
	}
	if err := json.Unmarshal(wire.Get(a.Msg.Error, "data"), &data); err != nil {
		t.Fatalf("%s: %v in %s", message, err, a.Msg.Error)
	}
	if a.Code() != code || data.Reason != reason || data.Rule != rule || (code == wire.CodeRateLimited) != (data.RetryAfterMs > 0 && data.RetryAfterMs <= 3_600_000) {
		t.Errorf("%s: %s", message, a.Msg.Error)
	}
}
