package daemon_test

import (
	"encoding/json"
	"testing"

	"durward/client"
)

// A call of a tool that there is not is found by the name that was asked for.
func TestCallsOfUnknownToolsAreFoundByTheirNames(t *testing.T) {
	c, _ := served(t, noServers)
	echo(t, c, "before")
	if _, err := c.Call(t.Context(), client.CallRequest{Name: "local__no_such", Arguments: json.RawMessage(`{}`)}, nil); err == nil {
		t.Fatal("it was called")
	}
	list, err := c.Calls(t.Context(), client.CallFilter{Tool: "local__no_such"})
	if err != nil || len(list.Calls) != 1 {
		t.Fatalf("%+v %v", list, err)
	}
	if r := list.Calls[0]; r.FullName != "local__no_such" || r.Tool != "" || r.Server != "" || r.Status != "error" {
		t.Errorf("%+v", r)
	}
}
