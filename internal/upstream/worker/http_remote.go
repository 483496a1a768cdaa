package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"

	"durward"
	"durward/internal/exchange"
)

// Bounds of one exchange over HTTP.
const (
	maxRedirects   = 3
	maxHeaderValue = 8 << 10  // of a configured header, bytes (names-and-limits)
	maxHeaders     = 64 << 10 // of all configured headers
)

// remote sends single requests to one server. It knows nothing of MCP besides
// what a body and a stream are. Its fields do not change once it is made.
type remote struct {
	server  string
	target  *url.URL // without user information
	host    string   // the Host header, when one is configured
	static  http.Header
	rt      http.RoundTripper
	limit   int      // bytes of one message
	secrets []string // never to be shown
}

// newRemote checks what a server is reached with.
func newRemote(spec *exchange.LinkSpec, rt http.RoundTripper) (*remote, error) {
	op := "upstream " + spec.Server
	u, err := url.Parse(spec.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, durward.Errorf(durward.Invalid, op, "its url is no absolute http or https URL; correct servers.%s.url", spec.Server)
	}
	p := &remote{server: spec.Server, rt: rt, limit: spec.MaxMessage, static: http.Header{}}
	if user := u.User; user != nil {
		p.keep(user.String())
		if password, ok := user.Password(); ok {
			p.keep(password)
		}
		r := http.Request{Header: p.static}
		password, _ := user.Password()
		r.SetBasicAuth(user.Username(), password)
	}
	for _, values := range u.Query() {
		for _, v := range values {
			p.keep(v)
		}
	}
	u.User, u.Fragment = nil, ""
	p.target = u
	return p, p.setHeaders(op, spec.Headers)
}

// setHeaders takes the configured headers. A value is sent exactly as it stands or refused.
func (r *remote) setHeaders(op string, headers map[string]string) error {
	size := 0
	for name, value := range headers {
		size += len(name) + len(value)
		switch {
		case !isToken(name):
			return durward.Errorf(durward.Invalid, op, "%q is no header name; correct servers.%s.headers", name, r.server)
		case !isHeaderValue(value):
			return durward.Errorf(durward.Invalid, op, "the value of header %s has a line break or control character; correct servers.%s.headers", name, r.server)
		case len(value) > maxHeaderValue || size > maxHeaders:
			return durward.Errorf(durward.Invalid, op, "header %s is over the limit of %d bytes for one and %d for all headers; shorten servers.%s.headers", name, maxHeaderValue, maxHeaders, r.server)
		}
		r.keep(value)
		if name = http.CanonicalHeaderKey(name); name == "Host" {
			r.host = value
			continue
		}
		r.static[name] = []string{value}
	}
	return nil
}

// keep remembers a value that must not be shown, and what follows its scheme ("Bearer x").
func (r *remote) keep(value string) {
	for _, v := range append(strings.Fields(value), value) {
		if len(v) >= 6 && !strings.EqualFold(v, "bearer") {
			r.secrets = append(r.secrets, v)
		}
	}
}

// scrub takes secrets out of foreign text that is about to be shown.
func (r *remote) scrub(text string) string {
	for _, s := range r.secrets {
		text = strings.ReplaceAll(text, s, "[redacted]")
	}
	return text
}

func isToken(s string) bool {
	for _, c := range []byte(s) {
		if c <= ' ' || c >= 0x7F || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}

func isHeaderValue(s string) bool {
	for _, c := range []byte(s) {
		if c < ' ' && c != '\t' || c == 0x7F {
			return false
		}
	}
	return true
}

// delivery tells whether a request can have reached the server. A RoundTripper
// that does not report what it does leaves it at "can". A part of a request counts
// as all of it: what a server makes of that is its own matter.
type delivery struct {
	trace httptrace.ClientTrace
	state atomic.Int32
	body  *bytes.Reader // of the attempt that http.Transport is at
}

const (
	deliveryUnknown = iota
	deliveryWaits   // there is no connection yet, or not a byte was written to it
	deliveryBegun   // the first was
)

func (d *delivery) begin(ctx context.Context) context.Context {
	// http.Transport begins anew only if carry lets it, so the last word counts. It
	// returns when nobody writes any more, so the word is final.
	d.trace.GetConn = func(string) { d.state.Store(deliveryWaits) }
	d.trace.WroteHeaderField = func(string, []string) { d.state.Store(deliveryBegun) }
	return httptrace.WithClientTrace(ctx, &d.trace)
}

var errWritten = errors.New("it was lost after the request had been written")

// carry gives req its body. http.Transport repeats requests by itself: one that
// it did not get to write, but also one with a header Idempotency-Key, or one
// that the server reset with PROTOCOL_ERROR. Whether a request is executed twice
// is not for it to decide: once the body was touched, there is no second one.
func (d *delivery) carry(req *http.Request, body []byte) {
	req.ContentLength = int64(len(body))
	req.Body = d.open(body)
	req.GetBody = func() (io.ReadCloser, error) {
		if d.body.Len() < len(body) {
			return nil, errWritten
		}
		return d.open(body), nil
	}
}

// open returns a reader of a type that net/http knows: it writes the headers
// together with what that brings.
func (d *delivery) open(body []byte) io.ReadCloser {
	d.body = bytes.NewReader(body)
	return io.NopCloser(d.body)
}

// possible reports whether err leaves the possibility that the server has the request.
func (d *delivery) possible(err error) bool {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return false
	}
	return d.state.Load() != deliveryWaits
}

// do sends one request, following redirects that stay at the same origin and keep
// the method (RFC 9110 §15.4.8, §15.4.9). The caller closes the response's body.
func (r *remote) do(ctx context.Context, method string, header http.Header, body []byte) (*http.Response, *exchange.Fault) {
	target := r.target
	for hops := 0; ; hops++ {
		resp, fault := r.send(ctx, target, method, header, body)
		if fault != nil {
			return nil, fault
		}
		if resp.StatusCode/100 != 3 {
			return resp, nil
		}
		next, fault := r.redirect(resp, target, hops)
		discard(resp)
		if fault != nil {
			return nil, fault
		}
		target = next
	}
}

func (r *remote) send(ctx context.Context, target *url.URL, method string, header http.Header, body []byte) (*http.Response, *exchange.Fault) {
	if ctx.Err() != nil {
		return nil, r.sendFault(ctx, context.Cause(ctx), false)
	}
	var d delivery
	req := &http.Request{
		Method: method, URL: target, Host: r.host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	if body != nil {
		d.carry(req, body)
	}
	resp, err := r.rt.RoundTrip(req.WithContext(d.begin(ctx)))
	if err == nil {
		return resp, nil
	}
	return nil, r.sendFault(ctx, err, d.possible(err))
}

// sendFault says why there is no response at all.
func (r *remote) sendFault(ctx context.Context, err error, delivered bool) *exchange.Fault {
	kind := durward.Unavailable
	if delivered {
		kind = durward.Unknown
	}
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return r.fault(durward.Timeout, delivered, "did not answer in time")
	}
	var own *durward.Error
	if errors.As(err, &own) && !delivered { // the dialler refused, and says why
		kind = own.Kind
	}
	if delivered {
		return again(r.fault(kind, true, "dropped the connection before an answer came (%v)"+mayHaveRun, err))
	}
	return r.fault(kind, false, "cannot be reached (%v); check that it runs and that servers.%s.url is right", err, r.server)
}

// redirect returns where to go on, or why not.
func (r *remote) redirect(resp *http.Response, from *url.URL, hops int) (*url.URL, *exchange.Fault) {
	to, err := from.Parse(resp.Header.Get("Location"))
	if err != nil || resp.Header.Get("Location") == "" {
		return nil, r.fault(durward.Invalid, false, "answered %s without a usable Location; correct servers.%s.url", statusText(resp.StatusCode), r.server)
	}
	to.User, to.Fragment = nil, ""
	shown := (&url.URL{Scheme: to.Scheme, Host: to.Host, Path: to.Path}).String()
	switch {
	case resp.StatusCode != http.StatusTemporaryRedirect && resp.StatusCode != http.StatusPermanentRedirect:
		return nil, r.fault(durward.Invalid, false, "redirects with status %d to %s, which would lose the request; if that address is right, set servers.%s.url to it", resp.StatusCode, shown, r.server)
	case !sameOrigin(from, to):
		return nil, r.fault(durward.Invalid, false, "redirects to another origin, %s, which is not followed; if that address is right, set servers.%s.url to it", shown, r.server)
	case hops >= maxRedirects:
		return nil, r.fault(durward.Invalid, false, "redirects more than %d times, at last to %s; correct servers.%s.url", maxRedirects, shown, r.server)
	}
	return to, nil
}

// sameOrigin compares scheme, host and port (RFC 6454 §5).
func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && portOf(a) == portOf(b)
}

func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	default:
		return "80"
	}
}

// fault makes a Fault whose message goes on from "the server" and holds no secret.
func (r *remote) fault(kind durward.Kind, delivered bool, format string, args ...any) *exchange.Fault {
	return &exchange.Fault{Kind: uint8(kind), Message: r.scrub("the server " + fmt.Sprintf(format, args...)), Delivered: delivered}
}
