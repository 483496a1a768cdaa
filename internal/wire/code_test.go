package wire_test

import (
	"errors"
	"fmt"
	"testing"

	"durward"
	"durward/internal/wire"
)

func TestCodeOf(t *testing.T) {
	for kind, code := range map[durward.Kind]int{
		durward.Invalid: wire.CodeInvalidParams, durward.NotFound: wire.CodeInvalidParams,
		durward.Denied: wire.CodeRefused, durward.Unauthenticated: wire.CodeRefused,
		durward.Conflict: wire.CodeUnavailable, durward.Unavailable: wire.CodeUnavailable,
		durward.Timeout: wire.CodeTimeout, durward.Unknown: wire.CodeUnknownOutcome, durward.Internal: wire.CodeInternal,
	} {
		if got := wire.CodeOf(fmt.Errorf("wrapped: %w", durward.Errorf(kind, "op", "x"))); got != code {
			t.Errorf("%v: %d, want %d", kind, got, code)
		}
	}
	if got := wire.CodeOf(errors.New("plain")); got != wire.CodeInternal {
		t.Error(got)
	}
	coded := &wire.CodeError{Code: -32020, Message: "m", Data: []byte(`{"a":1}`)}
	if got := wire.CodeOf(durward.Errorf(durward.Invalid, "", "x: %w", coded)); got != -32020 {
		t.Error("the code of its own must win", got)
	}
	if coded.Error() != "m (-32020)" {
		t.Error(coded.Error())
	}
}

func TestErrorObject(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{durward.Errorf(durward.Denied, "policy", "no \"x\""), `{"code":40301,"message":"policy: no \"x\""}`},
		{&wire.CodeError{Code: -32021, Message: "m", Data: []byte(`{"requiredCapabilities":{}}`)}, `{"code":-32021,"message":"m","data":{"requiredCapabilities":{}}}`},
		{fmt.Errorf("outer: %w", &wire.CodeError{Code: -1, Message: "m"}), `{"code":-1,"message":"m"}`},
	} {
		if got := string(wire.ErrorObject(c.err)); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

func TestErrorCode(t *testing.T) {
	for raw, want := range map[string]int{`{"code":-32601,"message":"x"}`: -32601, `{"message":"x","code":7}`: 7} {
		if got, ok := wire.ErrorCode([]byte(raw)); !ok || got != want {
			t.Errorf("%s: %d %v", raw, got, ok)
		}
	}
	for _, raw := range []string{`{}`, `{"code":"7"}`, `{"code":1.5}`, `null`, ``} {
		if _, ok := wire.ErrorCode([]byte(raw)); ok {
			t.Errorf("%s has a code", raw)
		}
	}
}

func TestEras(t *testing.T) {
	for _, r := range wire.ModernRevisions() {
		if wire.EraOf(r) != wire.Modern {
			t.Error(r)
		}
	}
	for _, r := range wire.LegacyRevisions() {
		if wire.EraOf(r) != wire.Legacy {
			t.Error(r)
		}
	}
	if wire.EraOf("2099-01-01") != wire.EraUnknown || wire.EraUnknown.String() != "" || wire.Legacy.String() != "legacy" || wire.Modern.String() != "modern" {
		t.Error("unknown era")
	}
	if wire.ModernRevisions()[0] != wire.RevisionModern || wire.LegacyRevisions()[0] != wire.RevisionLegacy {
		t.Error("the newest revision must come first")
	}
}

func TestProtocolKeys(t *testing.T) {
	for _, key := range []string{
		wire.MetaProtocolVersion, wire.MetaClientCapabilities, wire.MetaClientInfo, wire.MetaLogLevel, wire.MetaProgressToken, wire.MetaSubscriptionID,
	} {
		if !wire.ProtocolKey(key) {
			t.Error(key)
		}
	}
	for _, key := range []string{"traceparent", wire.MetaServerInfo, "vendor/x", ""} {
		if wire.ProtocolKey(key) {
			t.Error(key)
		}
	}
}

// knownMethods are those of both eras.
func knownMethods() []string {
	return []string{
		wire.MethodInitialize, wire.MethodDiscover, wire.MethodPing, wire.MethodToolsList, wire.MethodToolsCall, wire.MethodPromptsList,
		wire.MethodPromptsGet, wire.MethodResourcesList, wire.MethodTemplatesList, wire.MethodResourcesRead, wire.MethodSubscribe,
		wire.MethodUnsubscribe, wire.MethodComplete, wire.MethodSetLevel, wire.MethodListen, wire.MethodSampling, wire.MethodElicit,
		wire.MethodRootsList, wire.NoteInitialized, wire.NoteCancelled, wire.NoteProgress, wire.NoteMessage, wire.NoteToolsChanged,
		wire.NotePromptsChanged, wire.NoteResourcesChanged, wire.NoteResourceUpdated, wire.NoteRootsChanged, wire.NoteElicitComplete,
		wire.NoteAcknowledged,
	}
}

// TestKnownMethods: each comes out as it is.
func TestKnownMethods(t *testing.T) {
	for _, method := range knownMethods() {
		data := []byte(`{"jsonrpc":"2.0","method":"` + method + `"}`)
		var m wire.Message
		if err := wire.Parse(data, wire.FromClient, &m); err != nil || m.Method != method {
			t.Errorf("%s: %q, %v", method, m.Method, err)
		}
	}
}
