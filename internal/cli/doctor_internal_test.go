package cli

import (
	"testing"

	"durward"
)

// A server that failed is an error also at the moment at which it is tried again.
func TestWhatTheDoctorSaysOfServers(t *testing.T) {
	for name, tt := range map[string]struct {
		status durward.ServerStatus
		level  string
		detail string
	}{
		"ready":    {durward.ServerStatus{State: durward.StateReady, Tools: 2}, levelOK, "ready, 2 tools"},
		"starting": {durward.ServerStatus{State: durward.StateConnecting}, levelWarning, "it is starting"},
		"failed":   {durward.ServerStatus{State: durward.StateBackoff, Reason: "exit status 3"}, levelError, "exit status 3"},
		"again":    {durward.ServerStatus{State: durward.StateConnecting, Reason: "exit status 3"}, levelError, "exit status 3"},
		"partly":   {durward.ServerStatus{State: durward.StateDegraded, Reason: "no prompts"}, levelWarning, "no prompts"},
		"disabled": {durward.ServerStatus{State: durward.StateDisabled}, levelOK, "disabled"},
	} {
		t.Run(name, func(t *testing.T) {
			tt.status.Name = "s"
			found := examineServers([]durward.ServerStatus{tt.status})
			if len(found) != 1 || found[0].Level != tt.level || found[0].Detail != tt.detail {
				t.Errorf("%+v", found)
			}
		})
	}
}
