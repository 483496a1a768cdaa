package transport_test

import (
	"io"
	"net/http"
	"strconv"
)

func itoa(n int) string { return strconv.Itoa(n) }

func readAll(resp *http.Response) (string, error) {
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return string(data), err
}
