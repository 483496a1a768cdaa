package daemon

import (
	"context"
	"os"
	"strconv"
	"strings"

	"durward"
	"durward/internal/config"
	"durward/ledger"
)

// changed begins the record of a change that the service API makes: by whom, what
// and of what. What else there is to say is filled in where it is known.
func changed(by *durward.Caller, what, target string) *ledger.Change {
	return &ledger.Change{Who: who(by), What: what, Target: target}
}

// who names a caller of the service API for the record.
func who(by *durward.Caller) string {
	if by.Process == "" {
		return by.Principal + " (service API by TCP)"
	}
	return by.Principal + " (service API, uid " + strconv.Itoa(os.Geteuid()) + ", " + by.Process + ")" // no other user is let in
}

// Who else changes something.
const (
	byFile   = "the configuration file, which changed"
	bySignal = "a signal (SIGHUP)"
)

// record writes a change down before it is made. An error, of kind Unavailable,
// means that it must not be made.
func (s *Service) record(ctx context.Context, c *ledger.Change) error {
	if s.ledger == nil {
		return nil
	}
	c.At = now()
	c.Detail = s.redacted(c.Detail)
	return s.ledger.Append(ctx, c)
}

// undone writes down that a change which is on record was not made after all, or
// how it ended. There is nothing left to refuse: an error is logged.
func (s *Service) undone(c ledger.Change, what, why string) {
	c.What += " " + what
	c.Detail = why
	if err := s.record(context.Background(), &c); err != nil {
		s.log.Error("how a change ended is not on record", "change", c.What, "target", c.Target, "error", err)
	}
}

// maxDetail bounds the detail of a change, in bytes.
const maxDetail = 4 << 10

// differences fills in what a new configuration changes.
func differences(c *ledger.Change, old, next *config.Config) {
	c.OldHash, c.NewHash = old.Digest(), next.Digest()
	keys := "nothing is different"
	if paths := old.Differences(next); len(paths) > 0 {
		keys = "different: " + strings.Join(paths, ", ")
	}
	if c.Detail != "" {
		keys = c.Detail + "; " + keys
	}
	if len(keys) > maxDetail {
		keys = strings.ToValidUTF8(keys[:maxDetail], "") + "…"
	}
	c.Detail = keys
}
