package client_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"durward"
	"durward/client"
)

// A follower that is cut off goes on where it was, so that it misses nothing.
func TestAFollowerThatWasTooSlowGoesOnWhereItWas(t *testing.T) {
	var asked []string
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RawQuery)
		switch len(asked) {
		case 1:
			fmt.Fprint(w, ":\n\nevent: call\ndata: {\"cursor\":\"4\",\"call\":{\"id\":\"one\"}}\n\nevent: behind\ndata: {\"cursor\":\"7\"}\n\n")
		case 2:
			fmt.Fprint(w, ":\n\nevent: call\ndata: {\"cursor\":\"9\",\"call\":{\"id\":\"two\"}}\n\n")
		}
	}))
	defer web.Close()
	c, err := client.NewTCP(strings.TrimPrefix(web.URL, "http://"), secret)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	err = c.FollowCalls(t.Context(), client.CallFilter{Server: "x"}, "2", func(e client.Followed) bool {
		got = append(got, string(e.Call.ID))
		return true
	})
	if durward.KindOf(err) != durward.Unavailable || fmt.Sprint(got) != "[one two]" || fmt.Sprint(asked) != "[after=2&follow=1&server=x after=7&follow=1&server=x]" {
		t.Errorf("%v %q %q", err, got, asked)
	}
	asked = nil
	if err := c.FollowCalls(t.Context(), client.CallFilter{}, "", func(client.Followed) bool { return false }); err != nil || fmt.Sprint(asked) != "[follow=1]" {
		t.Errorf("%v %q", err, asked)
	}
}

// A stream that cannot go on says why: the service is still there.
func TestAFollowerIsToldWhyNothingMoreComes(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, ":\n\nevent: call\ndata: {\"cursor\":\"4\",\"call\":{\"id\":\"one\"}}\n\nevent: error\ndata: {\"error\":{\"kind\":\"unavailable\",\"message\":\"its disk is full\"}}\n\n")
	}))
	defer web.Close()
	c, err := client.NewTCP(strings.TrimPrefix(web.URL, "http://"), secret)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	err = c.FollowCalls(t.Context(), client.CallFilter{}, "", func(client.Followed) bool { n++; return true })
	if durward.KindOf(err) != durward.Unavailable || err.Error() != "its disk is full" || n != 1 {
		t.Error(err, n)
	}
}

func TestABodySaysHowLongItWas(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/v1/bodies/0a" {
			w.Header().Set(client.HeaderBodyBytes, "9")
			w.Header().Set(client.HeaderBodyCut, "true")
		}
		fmt.Fprint(w, "text")
	}))
	defer web.Close()
	c, err := client.NewTCP(strings.TrimPrefix(web.URL, "http://"), secret)
	if err != nil {
		t.Fatal(err)
	}
	body, info, err := c.Body(t.Context(), "0a")
	if err != nil || *info != (client.BodyInfo{Digest: "0a", Original: 9, Truncated: true}) {
		t.Fatalf("%+v %v", info, err)
	}
	if err := body.Close(); err != nil {
		t.Error(err)
	}
	if _, _, err := c.Body(t.Context(), "0b"); durward.KindOf(err) != durward.Unavailable {
		t.Error(err)
	}
}

// Whoever loses the service while a call is under way is not told that nothing was executed.
func TestACallWithoutAnAnswerMayHaveBeenExecuted(t *testing.T) {
	for name, serve := range map[string]func(w http.ResponseWriter){
		"before it begins to answer": func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
		"while it answers": func(w http.ResponseWriter) {
			fmt.Fprint(w, "event: progress\ndata: {}\n\n")
			_ = http.NewResponseController(w).Flush() // it can
			panic(http.ErrAbortHandler)
		},
		"at the end of an answer": func(w http.ResponseWriter) { fmt.Fprint(w, ":\n\n") },
	} {
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { serve(w) }))
		c, err := client.NewTCP(strings.TrimPrefix(web.URL, "http://"), secret)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Call(t.Context(), client.CallRequest{Name: "x"}, nil); durward.KindOf(err) != durward.Unknown || err == nil || !strings.Contains(err.Error(), "may have been executed") {
			t.Errorf("%s: %v", name, err)
		}
		web.Close()
	}
	c, err := client.NewTCP("127.0.0.1:1", secret) // where nobody is
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Call(t.Context(), client.CallRequest{Name: "x"}, nil); durward.KindOf(err) != durward.Unavailable || err == nil || strings.Contains(err.Error(), "may have been") {
		t.Errorf("when nobody is there: %v", err)
	}
}
