package worker

import (
	"net/http"
	"strconv"
	"time"

	"durward"
	"durward/internal/exchange"
)

// mayHaveRun ends the message of every fault of kind Unknown.
const mayHaveRun = "; the request may have been executed"

// statusFault says what a response without a JSON-RPC message means (RFC 9110
// §15). Not delivered are those that say that nobody took the request. An
// overloaded server took nothing either, but is not to be asked again at once.
func (r *remote) statusFault(resp *http.Response, body []byte) *exchange.Fault {
	code, said := resp.StatusCode, r.quoted(body)
	switch {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return r.unauthenticated(resp, said)
	case code == http.StatusProxyAuthRequired:
		return r.fault(durward.Unavailable, false, "is behind a proxy that wants credentials (HTTP 407); set them in servers.%s.proxy", r.server)
	case code == http.StatusTooManyRequests:
		return putOff(r.fault(durward.Unavailable, true, "takes no more requests for now (HTTP 429%s)%s", retryAfter(resp), said), resp)
	case code == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") != "":
		return putOff(r.fault(durward.Unavailable, true, "is not available for now (HTTP 503%s)%s", retryAfter(resp), said), resp)
	case code == http.StatusServiceUnavailable || code == http.StatusBadGateway: // a proxy lost it, as it seems
		return again(r.fault(durward.Unknown, true, "failed (%s)%s"+mayHaveRun, statusText(code), said))
	case code == http.StatusNotFound || code == http.StatusMethodNotAllowed || code == http.StatusGone:
		return r.fault(durward.Unavailable, false, "has no MCP endpoint at its url (%s)%s; correct servers.%s.url", statusText(code), said, r.server)
	case code == http.StatusRequestEntityTooLarge || code == http.StatusRequestHeaderFieldsTooLarge:
		return r.fault(durward.Invalid, false, "does not take a request as large as this (%s)%s", statusText(code), said)
	case code/100 == 4:
		return r.fault(durward.Invalid, false, "refuses the request (%s)%s", statusText(code), said)
	case code/100 == 5:
		return r.fault(durward.Unknown, true, "failed (%s)%s"+mayHaveRun, statusText(code), said)
	default:
		return r.fault(durward.Unknown, true, "answered %s with %s instead of a JSON-RPC message%s"+mayHaveRun, statusText(code), orNothing(mediaType(resp.Header)), said)
	}
}

// unauthenticated is told apart from an outage: waiting does not help.
func (r *remote) unauthenticated(resp *http.Response, said string) *exchange.Fault {
	challenge := ""
	if header := resp.Header.Get("WWW-Authenticate"); header != "" {
		challenge = ", it asks for " + scrubbed([]byte(r.scrub(header)))
	}
	if resp.StatusCode == http.StatusForbidden {
		return r.fault(durward.Unauthenticated, true, "forbids the request (HTTP 403%s)%s; check the credential in servers.%s.headers and what it may do", challenge, said, r.server)
	}
	return r.fault(durward.Unauthenticated, true, "does not accept who we say we are (HTTP 401%s)%s; set a valid credential in servers.%s.headers", challenge, said, r.server)
}

func statusText(code int) string {
	text := "HTTP " + strconv.Itoa(code)
	if name := http.StatusText(code); name != "" {
		text += " " + name
	}
	return text
}

// Bounds of the time a server wants to be left alone.
const (
	putOffDefault = time.Second // it did not say
	putOffLeast   = 100 * time.Millisecond
	putOffMost    = 24 * time.Hour // what is kept of a longer one; nobody waits for that
)

// putOff marks the fault of a server that is well and wants to be asked another
// time (RFC 9110 §10.2.3: seconds, or a date). Whether it executed anything is not
// told by that: a proxy may have said it after it had passed the request on.
func putOff(f *exchange.Fault, resp *http.Response) *exchange.Fault {
	f.Again, f.RetryAfter = true, putOffDefault
	header := resp.Header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(header, 10, 32); err == nil {
		f.RetryAfter = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(header); err == nil {
		f.RetryAfter = time.Until(at)
	}
	f.RetryAfter = min(max(f.RetryAfter, putOffLeast), putOffMost)
	return f
}

func retryAfter(resp *http.Response) string {
	if header := resp.Header.Get("Retry-After"); header != "" {
		return ", try again after " + scrubbed([]byte(header))
	}
	return ""
}

// quoted shows foreign text behind a colon. Secrets go before it is cut, so that
// no half of one stays.
func (r *remote) quoted(body []byte) string {
	if said := scrubbed([]byte(r.scrub(string(body)))); said != "" {
		return ": " + said
	}
	return ""
}

func orNothing(media string) string {
	if media == "" {
		return "nothing"
	}
	return scrubbed([]byte(media))
}
