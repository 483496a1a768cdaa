package transport_test

import (
	"io"
	"net/http"
	"strconv"

	"durward/internal/identity"
)

func itoa(n int) string { return strconv.Itoa(n) }

func readAll(resp *http.Response) (string, error) {
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return string(data), err
}

func newUnixServer(r *rig) *http.Server {
	return &http.Server{Handler: r.server.Handler, ConnContext: identity.ConnContext}
}
