// Package egress is the only place that dials. It makes the HTTP transports
// through which upstream servers are reached: proxy and certificate settings of
// the server, connection reuse for as long as both sides agree to it, and no time
// limit that could cut a long call.
//
// It does not judge destinations yet; redirects are the business of the
// upstream driver, which follows same-origin ones only.
package egress

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"durward"
)

// Bounds of one upstream transport.
const (
	dialTimeout      = 10 * time.Second
	handshakeTimeout = 10 * time.Second
	idleTimeout      = 90 * time.Second
	maxIdlePerHost   = 128 // the default limit of calls in flight per server
	maxHeaderBytes   = 64 << 10
)

// Dialer makes transports. The zero value is ready.
type Dialer struct {
	Counts *Counts // counts what its transports dial; nil: nobody does
}

// RoundTripper returns a transport for one server. It is Invalid when the
// server's proxy URL or CA file cannot be used.
func (d Dialer) RoundTripper(s durward.Server) (http.RoundTripper, error) {
	proxy, err := proxyOf(s)
	if err != nil {
		return nil, err
	}
	roots, err := rootsOf(s)
	if err != nil {
		return nil, err
	}
	return newPatient(&http.Transport{
		Proxy:                  proxy,
		DialContext:            d.Counts.counted((&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext),
		TLSClientConfig:        &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    handshakeTimeout,
		MaxIdleConns:           maxIdlePerHost,
		MaxIdleConnsPerHost:    maxIdlePerHost,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // the driver asks for gzip itself and bounds what comes out
	}), nil
}

func proxyOf(s durward.Server) (func(*http.Request) (*url.URL, error), error) {
	switch s.Proxy {
	case "":
		return http.ProxyFromEnvironment, nil
	case "none":
		return nil, nil
	}
	u, err := url.Parse(s.Proxy)
	if err != nil || u.Host == "" {
		return nil, durward.Errorf(durward.Invalid, "server "+s.Name, "proxy must be a URL such as http://proxy:3128, or none")
	}
	return http.ProxyURL(u), nil
}

func rootsOf(s durward.Server) (*x509.CertPool, error) {
	if s.CAFile == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(s.CAFile)
	if err != nil {
		return nil, durward.Errorf(durward.Invalid, "server "+s.Name, "ca_file: %w", err)
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if !roots.AppendCertsFromPEM(pem) {
		return nil, durward.Errorf(durward.Invalid, "server "+s.Name, "ca_file %s holds no PEM certificate", s.CAFile)
	}
	return roots, nil
}
