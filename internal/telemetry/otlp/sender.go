package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"durward"
	"durward/internal/egress"
	"durward/internal/secret"
)

// Signal is a kind of what is sent.
type Signal int

// The signals.
const (
	Traces Signal = iota
	Metrics
	Logs
)

// String returns the name, which is also the last part of the URL.
func (s Signal) String() string { return [...]string{"traces", "metrics", "logs"}[s] }

// Signals returns all signals.
func Signals() []Signal { return []Signal{Traces, Metrics, Logs} }

// Endpoint is a collector.
type Endpoint struct {
	URL     string                  // base URL, http or https; /v1/traces and so on are put behind it
	Headers map[string]secret.Value // sent with every request
	CAFile  string                  // PEM bundle that is trusted besides the system's; empty: none
	Proxy   string                  // as for servers: URL, none, or empty for that of the environment
	Dials   *egress.Counts          // counts connections; nil: nobody does
}

// Bounds of one request to a collector.
const (
	sendTimeout = 10 * time.Second // of all attempts together
	firstPause  = 250 * time.Millisecond
	longestWait = 5 * time.Second // that a collector can ask for
	maxAnswer   = 64 << 10        // bytes
	maxReason   = 200             // bytes of an answer that an error repeats
)

// sender sends messages to a collector. It is safe for concurrent use.
type sender struct {
	base    string
	header  http.Header
	client  *http.Client
	writers sync.Pool // of *gzip.Writer
}

func newSender(e Endpoint) (*sender, error) {
	u, err := url.Parse(e.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, durward.Errorf(durward.Invalid, "telemetry.otlp.endpoint", "must be the base URL of a collector, http or https, without a query, such as http://127.0.0.1:4318")
	}
	transport, err := egress.Dialer{Counts: e.Dials}.RoundTripper(durward.Server{Name: "telemetry", Proxy: e.Proxy, CAFile: e.CAFile})
	if err != nil {
		return nil, err
	}
	s := &sender{base: strings.TrimSuffix(u.String(), "/") + "/v1/", header: http.Header{}, client: &http.Client{
		Transport: transport,
		// A collector that moved is a matter of the configuration: the headers are for this one.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	for name, value := range e.Headers {
		s.header.Set(name, value.Reveal())
	}
	s.header.Set("Content-Type", "application/x-protobuf")
	s.header.Set("Content-Encoding", "gzip")
	s.header.Set("User-Agent", "durward")
	return s, nil
}

// close drops the connections that are kept.
func (s *sender) close() { s.client.CloseIdleConnections() }

// send sends a message, again if the collector asks for that or cannot be
// reached, until ctx ends or its time is over. The error is safe to show: it holds
// no header, and little of the answer.
func (s *sender) send(ctx context.Context, signal Signal, m proto.Message) error {
	body, err := s.pack(m)
	if err != nil {
		return durward.Errorf(durward.Internal, "otlp", "%w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	for pause := firstPause; ; pause *= 2 {
		wait, err := s.post(ctx, signal, body)
		if err == nil {
			return nil
		}
		var final *refusedError
		var some *refusedSome
		if errors.As(err, &final) || errors.As(err, &some) || !sleep(ctx, max(pause, wait)) {
			return durward.Errorf(durward.Unavailable, "otlp "+signal.String(), "%w", err)
		}
	}
}

// pack encodes and compresses a message.
func (s *sender) pack(m proto.Message) ([]byte, error) {
	raw, err := proto.Marshal(m)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	z, ok := s.writers.Get().(*gzip.Writer) // one takes a megabyte to make
	if ok {
		z.Reset(&b)
	} else if z, err = gzip.NewWriterLevel(&b, gzip.BestSpeed); err != nil {
		return nil, err
	}
	defer s.writers.Put(z)
	if _, err := z.Write(raw); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// refusedError is an answer that another attempt would get as well.
type refusedError struct {
	status int
	reason string
}

// Error says what the collector answered.
func (e *refusedError) Error() string {
	return fmt.Sprintf("the collector answered %d%s", e.status, e.reason)
}

// post makes one attempt. wait is how long the collector wants to be left alone.
func (s *sender) post(ctx context.Context, signal Signal, body []byte) (wait time.Duration, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.base+signal.String(), bytes.NewReader(body))
	if err != nil {
		return 0, &refusedError{reason: ": " + err.Error()}
	}
	r.Header = s.header // RoundTrippers only read it
	resp, err := s.client.Do(r)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err // without the URL, which the log has no need of
		}
		return 0, fmt.Errorf("the collector cannot be reached: %w", err)
	}
	answer, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer)) // of no use if it breaks off
	_ = resp.Body.Close()
	switch {
	case resp.StatusCode/100 == 2:
		if some := partial(resp.Header, answer); some.n > 0 {
			return 0, &some
		}
		return 0, nil
	case resp.StatusCode == http.StatusTooManyRequests, resp.StatusCode == http.StatusBadGateway,
		resp.StatusCode == http.StatusServiceUnavailable, resp.StatusCode == http.StatusGatewayTimeout:
		seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
		return min(time.Duration(max(seconds, 0))*time.Second, longestWait), fmt.Errorf("the collector answered %d", resp.StatusCode)
	default:
		return 0, &refusedError{status: resp.StatusCode, reason: reasonOf(resp.Header, answer)}
	}
}

// reasonOf is the beginning of an answer in words, as text of one line.
func reasonOf(h http.Header, answer []byte) string {
	if !strings.HasPrefix(h.Get("Content-Type"), "text/") && !strings.HasPrefix(h.Get("Content-Type"), "application/json") {
		return ""
	}
	return words(answer)
}

// words is the beginning of what a collector says, as text of one line behind a colon.
func words(said []byte) string {
	text := strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return ' '
		}
		return r
	}, string(said[:min(len(said), maxReason)]))
	if text = strings.TrimSpace(strings.ToValidUTF8(text, "")); text == "" {
		return ""
	}
	return ": " + text
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
