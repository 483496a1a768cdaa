package daemon

import (
	"crypto/tls"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"

	"durward"
	"durward/internal/config"
)

// listenSocket listens on the service's unix socket, which only its owner may
// open. A socket file that nobody answers on is left from a killed service and
// is replaced; the state lock makes sure that no service owns it.
func listenSocket(path string) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, durward.Errorf(durward.Unavailable, "socket", "%w", err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, durward.Errorf(durward.Unavailable, "socket", "the old one cannot be removed: %w", err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, durward.Errorf(durward.Unavailable, "socket", "%w", err)
	}
	// The directory is closed to others already; the mode is the second lock.
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(durward.Errorf(durward.Unavailable, "socket", "%w", err), l.Close())
	}
	return l, nil
}

// listenHTTP listens where the configuration says, with TLS if it has certificates.
func listenHTTP(c *config.Config) (net.Listener, error) {
	l, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return nil, durward.Errorf(durward.Unavailable, "listen", "%w; is another service running? (listen: chooses another address)", err)
	}
	if c.TLS.Cert == "" {
		return l, nil
	}
	pair, err := tls.LoadX509KeyPair(c.TLS.Cert, c.TLS.Key)
	if err != nil {
		return nil, errors.Join(durward.Errorf(durward.Invalid, "tls", "%w", err), l.Close())
	}
	return tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}), nil
}

// Bounds of the listeners. Nothing bounds the time a request takes: calls and
// streams may be long (B18).
const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 5 * time.Minute
	drainTimeout  = 5 * time.Second
)

// lockWait is how long the lock of the state directory is waited for: who only looks
// whether a service runs holds it for a moment.
const lockWait = 250 * time.Millisecond
