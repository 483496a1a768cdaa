package approval_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"durward"
	"durward/internal/approval"
)

// An answer is bound to everything that was asked; how the same JSON is written
// does not count.
func TestB23_AnApprovalIsForWhatWasAsked(t *testing.T) {
	const arguments = `{"path":"/tmp/a","n":1,"deep":{"x":[1,2]}}`
	for _, scope := range []durward.Scope{durward.ScopeSession, durward.ScopeGrant} {
		r := newRig(t)
		r.approve(t, call(arguments), asks(durward.ScopeGrant, "user/a", "corp/b"), approval.Reply{Scope: scope})
		for name, tt := range map[string]struct {
			call    *durward.Call
			d       *durward.Decision
			granted bool
		}{
			"the same":                   {call(arguments), asks(durward.ScopeGrant, "user/a", "corp/b"), true},
			"spelled otherwise":          {call("{ \"deep\":{\"x\":[1.0,2]},\t\"n\":1e0,\"p\\u0061th\":\"\\/tmp/a\"}"), asks(durward.ScopeGrant, "user/a", "corp/b"), true},
			"fewer rules":                {call(arguments), asks(durward.ScopeGrant, "corp/b"), true},
			"another rule":               {call(arguments), asks(durward.ScopeGrant, "corp/b", "corp/c"), false},
			"no rule":                    {call(arguments), asks(durward.ScopeGrant, []string{}...), false},
			"other arguments":            {call(`{"path":"/tmp/b","n":1,"deep":{"x":[1,2]}}`), asks(durward.ScopeGrant, "user/a"), false},
			"more arguments":             {call(`{"path":"/tmp/a","n":1,"deep":{"x":[1,2]},"force":true}`), asks(durward.ScopeGrant, "user/a"), false},
			"fewer arguments":            {call(`{"path":"/tmp/a","n":1}`), asks(durward.ScopeGrant, "user/a"), false},
			"another order in a list":    {call(`{"path":"/tmp/a","n":1,"deep":{"x":[2,1]}}`), asks(durward.ScopeGrant, "user/a"), false},
			"another number":             {call(`{"path":"/tmp/a","n":1.0000000000000000001,"deep":{"x":[1,2]}}`), asks(durward.ScopeGrant, "user/a"), false},
			"a text for a number":        {call(`{"path":"/tmp/a","n":"1","deep":{"x":[1,2]}}`), asks(durward.ScopeGrant, "user/a"), false},
			"another principal":          {call(arguments, func(c *durward.Call) { c.Caller.Principal = "bob" }), asks(durward.ScopeGrant, "user/a"), false},
			"another server":             {call(arguments, func(c *durward.Call) { c.Server = "other" }), asks(durward.ScopeGrant, "user/a"), false},
			"another tool":               {call(arguments, func(c *durward.Call) { c.Name = "delete" }), asks(durward.ScopeGrant, "user/a"), false},
			"another method":             {call(arguments, func(c *durward.Call) { c.Method = "prompts/get" }), asks(durward.ScopeGrant, "user/a"), false},
			"a tool that changed":        {call(arguments, func(c *durward.Call) { c.Tool = &durward.Tool{Hash: "pin2"} }), asks(durward.ScopeGrant, "user/a"), false},
			"a tool that nobody knows":   {call(arguments, func(c *durward.Call) { c.Tool = nil }), asks(durward.ScopeGrant, "user/a"), false},
			"a rule that permits a call": {call(arguments), asks(durward.ScopeCall, "user/a"), false},
			"an unknown scope":           {call(arguments), asks("everything", "user/a"), false},
			"a rule that permits a session": {
				call(arguments), asks(durward.ScopeSession, "user/a"), scope == durward.ScopeSession,
			},
			"another session": {
				call(arguments, func(c *durward.Call) { c.Caller.Session = "s2" }), asks(durward.ScopeGrant, "user/a"), scope == durward.ScopeGrant,
			},
			"no session": {
				call(arguments, func(c *durward.Call) { c.Caller.Session = "" }), asks(durward.ScopeGrant, "user/a"), scope == durward.ScopeGrant,
			},
			"rewritten to the same": {
				call(`{"other":1}`), &durward.Decision{Changed: []byte(`{"arguments":` + arguments + `}`), Question: asks(durward.ScopeGrant, "user/a").Question}, true,
			},
			"rewritten to something else": {
				call(arguments), &durward.Decision{Changed: []byte(`{"arguments":{}}`), Question: asks(durward.ScopeGrant, "user/a").Question}, false,
			},
		} {
			a, ok := r.Granted(tt.call, tt.d)
			if ok != tt.granted || a.Approved != tt.granted || ok && (a.By != "bob" || a.Approval != r.Grants()[0].ID || a.Scope != scope) {
				t.Errorf("%s, %s: %v %+v", scope, name, ok, a)
			}
		}
	}
}

// An approval for a call is for that call.
func TestB23_AnApprovedCallIsAskedAboutAgain(t *testing.T) {
	r := newRig(t)
	r.approve(t, call(`{}`), asks(durward.ScopeGrant), approval.Reply{})
	if _, ok := r.Granted(call(`{}`), asks(durward.ScopeGrant)); ok || len(r.Grants()) != 0 {
		t.Error("it was remembered")
	}
}

// Absent arguments are not {}, and what is no tool is bound to all its parameters.
func TestB23_WhatHasNoArgumentsIsBoundToItsParameters(t *testing.T) {
	r := newRig(t)
	bare := func(c *durward.Call) { c.Arguments, c.Params = nil, []byte(`{"name":"files__write"}`) }
	r.approve(t, call(`{}`, bare), asks(durward.ScopeGrant), approval.Reply{Scope: durward.ScopeGrant})
	if _, ok := r.Granted(call(`{}`), asks(durward.ScopeGrant)); ok {
		t.Error("{} is not nothing")
	}
	if _, ok := r.Granted(call(`{}`, bare), asks(durward.ScopeGrant)); !ok {
		t.Error("nothing is nothing")
	}
	read := func(params string) *durward.Call {
		return &durward.Call{ID: durward.NewCallID(), Caller: durward.Caller{Principal: "alice"}, Method: "resources/read", Server: "files", Name: "file:///a", Params: []byte(params)}
	}
	r.approve(t, read(`{"uri":"file:///a","_meta":{"t":1}}`), asks(durward.ScopeGrant), approval.Reply{Scope: durward.ScopeGrant})
	for params, want := range map[string]bool{`{"uri":"file:///a"}`: true, `{"_meta":{"t":2}, "uri":"file:///\u0061"}`: true, `{"uri":"file:///b"}`: false, `{"uri":"file:///a","x":1}`: false} {
		if _, ok := r.Granted(read(params), asks(durward.ScopeGrant)); ok != want {
			t.Errorf("%s: %v", params, ok)
		}
	}
}

func TestNoAnswerReachesFurtherThanItsRulePermits(t *testing.T) {
	session, grant := durward.ScopeSession, durward.ScopeGrant
	for name, tt := range map[string]struct {
		remember durward.Scope
		reply    approval.Reply
		call     func(*durward.Call)
		kind     durward.Kind
	}{
		"session for a call":         {"", approval.Reply{Scope: session}, nil, durward.Denied},
		"grant for a call":           {durward.ScopeCall, approval.Reply{Scope: grant}, nil, durward.Denied},
		"grant for a session":        {session, approval.Reply{Scope: grant}, nil, durward.Denied},
		"a scope of its own":         {grant, approval.Reply{Scope: "always"}, nil, durward.Invalid},
		"without a session":          {grant, approval.Reply{Scope: session}, func(c *durward.Call) { c.Caller.Session = "" }, durward.Invalid},
		"a tool that nobody knows":   {grant, approval.Reply{Scope: grant}, func(c *durward.Call) { c.Tool = nil }, durward.Denied},
		"for ever":                   {grant, approval.Reply{Scope: grant, For: 400 * 24 * time.Hour}, nil, durward.Invalid},
		"for no time":                {grant, approval.Reply{Scope: grant, For: -1}, nil, durward.Invalid},
		"a session with a time":      {grant, approval.Reply{Scope: session, For: time.Hour}, nil, durward.Invalid},
		"a call with a pattern":      {grant, approval.Reply{Patterns: map[string]string{"/a": "*"}}, nil, durward.Invalid},
		"a pattern for nothing":      {grant, approval.Reply{Scope: grant, Patterns: map[string]string{"/z": "*"}}, nil, durward.Invalid},
		"a pattern for everything":   {grant, approval.Reply{Scope: grant, Patterns: map[string]string{"": "**"}}, nil, durward.Invalid},
		"a pattern for an object":    {grant, approval.Reply{Scope: grant, Patterns: map[string]string{"/o": "**"}}, nil, durward.Invalid},
		"a pattern within another":   {grant, approval.Reply{Scope: grant, Patterns: map[string]string{"/o": "*", "/o/p": "*"}}, nil, durward.Invalid},
		"a pattern that is not met":  {grant, approval.Reply{Scope: grant, Patterns: map[string]string{"/a": "b*"}}, nil, durward.Invalid},
		"a pattern that is too long": {grant, approval.Reply{Scope: grant, Patterns: map[string]string{"/a": strings.Repeat("*", 2000)}}, nil, durward.Invalid},
	} {
		r := newRig(t)
		change := tt.call
		if change == nil {
			change = func(*durward.Call) {}
		}
		id, done := r.ask(t.Context(), t, call(`{"a":"x","o":{"p":1}}`, change), asks(tt.remember))
		tt.reply.Approve, tt.reply.By = true, "bob"
		if _, err := r.Answer(t.Context(), id, tt.reply); durward.KindOf(err) != tt.kind || err == nil {
			t.Errorf("%s: %v", name, err)
		}
		// The question is still open for an answer that counts.
		if _, err := r.Answer(t.Context(), id, approval.Reply{Approve: true, By: "bob"}); err != nil || !(<-done).Approved || len(r.Grants()) != 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	r := newRig(t)
	id, done := r.ask(t.Context(), t, call(`{}`), asks(grant))
	if _, err := r.Answer(t.Context(), id, approval.Reply{By: "bob", For: time.Hour}); durward.KindOf(err) != durward.Invalid {
		t.Error("a denial that is remembered:", err)
	}
	if _, err := r.Answer(t.Context(), id, approval.Reply{By: "bob", Scope: grant}); err != nil || (<-done).Approved || len(r.Grants()) != 0 {
		t.Error(err)
	}
}

func TestPatternsWidenOnePlaceOnly(t *testing.T) {
	r := newRig(t)
	r.approve(t, call(`{"path":"src/a.go","mode":"w","list":[1,2]}`), asks(durward.ScopeGrant), approval.Reply{
		Scope: durward.ScopeGrant, Patterns: map[string]string{"/path": "src/*.go", "/list/1": "?"},
	})
	for arguments, want := range map[string]bool{
		`{"path":"src/a.go","mode":"w","list":[1,2]}`:             true,
		`{"path":"src/b.go","mode":"w","list":[1,3]}`:             true,
		`{"list":[1,3],"mode":"w","path":"src\/\u0062.go"}`:       true,
		`{"path":"src/b.go","mode":"a","list":[1,2]}`:             false,
		`{"path":"src/b.go","mode":"w","list":[1,23]}`:            false,
		`{"path":"src/b.go","mode":"w","list":[1]}`:               false,
		`{"path":"src/b.go","mode":"w","list":[1,2,3]}`:           false,
		`{"path":"src/x/b.go","mode":"w","list":[1,2]}`:           false,
		`{"path":"src/../../b.go","mode":"w","list":[1,2]}`:       false,
		`{"path":"src/a\u0000.go","mode":"w","list":[1,2]}`:       false,
		`{"path":"src/\u202eog.a.go","mode":"w","list":[1,2]}`:    false,
		`{"path":["src/b.go"],"mode":"w","list":[1,2]}`:           false,
		`{"mode":"w","list":[1,2]}`:                               false,
		`{"path":"src/b.go","mode":"w","list":[1,2],"force":1}`:   false,
		`{"path":null,"mode":"w","list":[1,null]}`:                false,
		`{"path":"src/b.go","mode":"w","list":{"0":1,"1":2}}`:     false,
		`{"path":"src/b.go","mode":"w","list":[1,2],"path ":"x"}`: false,
	} {
		if _, ok := r.Granted(call(arguments), asks(durward.ScopeGrant)); ok != want {
			t.Errorf("%s: %v", arguments, ok)
		}
	}
}

func TestGrantsEnd(t *testing.T) {
	now := time.Now()
	r := newRig(t, func(o *approval.Options) { o.Now = func() time.Time { return now } })
	r.approve(t, call(`{"n":1}`), asks(durward.ScopeGrant), approval.Reply{Scope: durward.ScopeGrant})
	r.approve(t, call(`{"n":2}`), asks(durward.ScopeGrant), approval.Reply{Scope: durward.ScopeSession})
	now = now.Add(time.Second)
	r.approve(t, call(`{"n":3}`), asks(durward.ScopeGrant), approval.Reply{Scope: durward.ScopeGrant, For: time.Hour})
	all := r.Grants()
	if len(all) != 3 || len(r.shelf.grants) != 2 || all[2].Preview != `{"n":3}` || all[0].Expires.Sub(all[0].Created) != 30*24*time.Hour && all[1].Expires.Sub(all[1].Created) != 30*24*time.Hour {
		t.Fatalf("%+v", all)
	}
	holds := func(n string) bool {
		_, ok := r.Granted(call(`{"n":`+n+`}`), asks(durward.ScopeGrant))
		return ok
	}
	r.SessionEnded("s2")
	if !holds("2") {
		t.Error("another session ended")
	}
	if r.SessionEnded("s1"); holds("2") {
		t.Error("its session ended")
	}
	if now = now.Add(time.Hour); holds("3") || !holds("1") || len(r.Grants()) != 1 {
		t.Error("one ran out")
	}
	// A new process has those that hold, and keeps no others.
	again, err := approval.New(t.Context(), approval.Options{Store: r.shelf, Record: r.book.record, Now: func() time.Time { return now }})
	if err != nil || len(again.Grants()) != 1 || len(r.shelf.grants) != 1 {
		t.Errorf("%v %+v", err, r.shelf.grants)
	}
	if _, ok := again.Granted(call(`{"n":1}`), asks(durward.ScopeGrant)); !ok {
		t.Error("it was forgotten")
	}
	id := r.Grants()[0].ID
	if _, err := r.Revoke(t.Context(), "zzzzzz"); durward.KindOf(err) != durward.NotFound {
		t.Error(err)
	}
	if g, err := r.Revoke(t.Context(), id[:5]); err != nil || g.ID != id || holds("1") || len(r.Grants()) != 0 || len(r.shelf.grants) != 0 {
		t.Errorf("%+v %v", g, err)
	}
}

func TestAGrantThatCannotBeKeptIsAnAnswerForOneCall(t *testing.T) {
	r := newRig(t)
	id, done := r.ask(t.Context(), t, call(`{}`), asks(durward.ScopeGrant))
	r.shelf.err = errors.New("the disk is full")
	_, err := r.Answer(t.Context(), id, approval.Reply{Approve: true, By: "bob", Scope: durward.ScopeGrant})
	if durward.KindOf(err) != durward.Unavailable || err == nil || !(<-done).Approved || len(r.Grants()) != 0 {
		t.Error(err)
	}
	none := newRig(t, func(o *approval.Options) { o.Store = nil })
	id, done = none.ask(t.Context(), t, call(`{}`), asks(durward.ScopeGrant))
	if _, err := none.Answer(t.Context(), id, approval.Reply{Approve: true, By: "bob", Scope: durward.ScopeGrant}); durward.KindOf(err) != durward.Unavailable {
		t.Error(err)
	}
	if err := none.Close(); err != nil || (<-done).Approved {
		t.Error(err)
	}
}

func TestGrantsAreBounded(t *testing.T) {
	for _, scope := range []durward.Scope{durward.ScopeSession, durward.ScopeGrant} {
		r := newRig(t, func(o *approval.Options) { o.Grants = 1 })
		r.approve(t, call(`{"n":1}`), asks(durward.ScopeGrant), approval.Reply{Scope: scope})
		id, done := r.ask(t.Context(), t, call(`{"n":2}`), asks(durward.ScopeGrant))
		if _, err := r.Answer(t.Context(), id, approval.Reply{Approve: true, By: "bob", Scope: scope}); durward.KindOf(err) != durward.Unavailable || err == nil || !strings.Contains(err.Error(), "limits.grants") {
			t.Error(err)
		}
		if err := r.Close(); err != nil || (<-done).Approved {
			t.Error(err)
		}
	}
}
