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

const secret = "abcdefghijklmnop-._~+/=0123"

// A token leaves this machine by no address, and no error or verb shows it.
func TestNewTCPRefusesWhatIsNotThisMachine(t *testing.T) {
	for _, address := range []string{"", "8485", "127.0.0.1", "10.0.0.1:8485", "0.0.0.0:8485", ":8485", "[::]:8485", "durward.example:8485", "localhost.example:1", "127.0.0.1.example:1"} {
		if _, err := client.NewTCP(address, secret); durward.KindOf(err) != durward.Invalid || strings.Contains(fmt.Sprint(err), secret) {
			t.Errorf("%q: %v", address, err)
		}
	}
	for _, token := range []string{"", " ", "a b", secret + "\n", secret + "\r\nX: y", "tökën"} {
		if _, err := client.NewTCP("127.0.0.1:1", token); durward.KindOf(err) != durward.Invalid || token != "" && token != " " && strings.Contains(err.Error(), token) {
			t.Errorf("%q: %v", token, err)
		}
	}
	for _, address := range []string{"127.0.0.1:1", "127.1.2.3:1", "[::1]:1", "localhost:1"} {
		c, err := client.NewTCP(address, secret)
		if err != nil {
			t.Fatal(err)
		}
		if text := fmt.Sprintf("%v %+v %#v", c, c, c); strings.Contains(text, secret) {
			t.Error(text)
		}
	}
}

// The token does not follow a redirect.
func TestRedirectsAreNotFollowed(t *testing.T) {
	followed := make(chan string, 1)
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { followed <- r.Header.Get("Authorization") }))
	defer other.Close()
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+secret {
			t.Error(r.Header)
		}
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	}))
	defer first.Close()
	c, err := client.NewTCP(strings.TrimPrefix(first.URL, "http://"), secret)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Status(t.Context()); durward.KindOf(err) != durward.Internal || err == nil {
		t.Error(err)
	}
	if len(followed) > 0 {
		t.Errorf("followed, with %q", <-followed)
	}
}

func TestNobodyThereByTCP(t *testing.T) {
	c, err := client.NewTCP("127.0.0.1:1", secret) // no server's port that was closed: it might be somebody else's by now
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Status(t.Context()); durward.KindOf(err) != durward.Unavailable || !strings.Contains(err.Error(), "api.listen") {
		t.Error(err)
	}
}
