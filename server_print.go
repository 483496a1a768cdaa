package durward

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// Hidden stands in print for what may hold a secret.
const Hidden = "«redacted»"

// String describes the server without what may hold a secret: the values of its
// arguments, its environment, its headers, its URL's query and its proxy.
func (s Server) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "server %s (%s", s.Name, s.Transport)
	if s.Command != "" {
		fmt.Fprintf(&b, " %s, %d arguments", s.Command, len(s.Args))
	}
	if s.URL != "" {
		b.WriteString(" " + origin(s.URL))
	}
	for _, part := range []struct {
		name   string
		values map[string]string
	}{{"env", s.Env}, {"headers", s.Headers}} {
		if len(part.values) > 0 {
			b.WriteString(", " + part.name + " " + strings.Join(slices.Sorted(maps.Keys(part.values)), " "))
		}
	}
	if s.Disabled {
		b.WriteString(", disabled")
	}
	b.WriteString(")")
	return b.String()
}

// origin is what of a URL can be shown: scheme and host.
func origin(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return Hidden
	}
	return u.Scheme + "://" + u.Host
}

// Format prints [Server.String], whatever the verb: no verb may show more.
func (s Server) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) } // fmt reports what goes wrong

// LogValue is what logs show.
func (s Server) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalJSON encodes the server with what may hold a secret hidden.
func (s Server) MarshalJSON() ([]byte, error) {
	type plain Server // without this method
	p := plain(s)
	p.Args = make([]string, len(s.Args))
	for i := range p.Args {
		p.Args[i] = Hidden
	}
	p.Env, p.Headers = hidden(s.Env), hidden(s.Headers)
	if s.URL != "" {
		p.URL = origin(s.URL)
	}
	if s.Proxy != "" && s.Proxy != "none" {
		p.Proxy = origin(s.Proxy)
	}
	return json.Marshal(p)
}

func hidden(values map[string]string) map[string]string {
	if values == nil {
		return nil
	}
	out := make(map[string]string, len(values))
	for name := range values {
		out[name] = Hidden
	}
	return out
}
