package egress_test

import (
	"net/http"
	"testing"

	"durward"
	"durward/internal/egress"
)

func TestConnectionsAreCounted(t *testing.T) {
	var counts egress.Counts
	s := site(t)
	for range 2 {
		rt, err := egress.Dialer{Counts: &counts}.RoundTripper(durward.Server{Name: "a", URL: s.URL, Proxy: "none"})
		if err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := rt.RoundTrip(req); err == nil { // the certificate is nobody's: the connection is closed again
			resp.Body.Close()
			t.Error("a certificate that nobody vouches for is taken")
		}
	}
	const nobody = "https://127.0.0.1:1" // the port of a site that was closed might be somebody else's by now
	rt, err := egress.Dialer{Counts: &counts}.RoundTripper(durward.Server{Name: "a", URL: nobody, Proxy: "none"})
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, nobody, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := rt.RoundTrip(req); err == nil {
		resp.Body.Close()
		t.Error("a server that is gone answers")
	}
	if dials, failed, open := counts.Read(); dials != 3 || failed != 1 || open != 0 {
		t.Errorf("%d dials, %d failed, %d open", dials, failed, open)
	}
}
