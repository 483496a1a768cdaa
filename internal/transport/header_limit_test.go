package transport_test

import (
	"strconv"
	"strings"
	"testing"
)

// Many headers of a permitted length are over the bound together, and the answer names it.
func TestHeadersAreBoundedTogether(t *testing.T) {
	r := newRig(t, nil, nil)
	var headers []string
	for i := range 9 {
		headers = append(headers, "X-Long-"+strconv.Itoa(i), strings.Repeat("x", 8<<10))
	}
	headers = append(headers, "Content-Type", "application/json", "Accept", "application/json, text/event-stream")
	resp, body := r.send("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, headers...)
	if resp.StatusCode != 431 || !strings.Contains(body, "(limits.headers)") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}
