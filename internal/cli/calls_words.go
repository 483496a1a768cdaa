package cli

import (
	"fmt"
	"strings"
	"time"

	"durward/client"
)

// ago says how long ago something was, for people: a date when it is long ago.
func ago(at, now time.Time) string {
	d := now.Sub(at)
	switch {
	case d < 0: // clocks differ
		return "now"
	case d < time.Minute:
		return fmt.Sprintf("%ds ago", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh ago", d/time.Hour)
	case d < 14*24*time.Hour:
		return fmt.Sprintf("%dd ago", d/(24*time.Hour))
	default:
		return at.Local().Format(time.DateOnly)
	}
}

// took is a duration in microseconds, in three digits or so.
func took(us int64) string {
	d := time.Duration(us) * time.Microsecond
	switch {
	case us <= 0:
		return ""
	case d < time.Millisecond:
		return fmt.Sprintf("%dµs", us)
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1fms", d.Seconds()*1000)
	case d < time.Second:
		return fmt.Sprintf("%dms", d/time.Millisecond)
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	default:
		return d.Round(time.Second).String()
	}
}

// shortID is as much of the id of a call as tells calls apart: its time and a bit
// more. show takes it. What is no such id stays as it is.
func shortID(id string) string {
	if len(id) != 36 || id[8] != '-' || id[13] != '-' || id[18] != '-' || id[23] != '-' {
		return id
	}
	return id[:20]
}

// statusColour is the colour of the status of a call.
func statusColour(status string) string {
	switch status {
	case "ok", "input":
		return green
	case client.StatusDispatched:
		return yellow
	default:
		return red
	}
}

// decisionColour is the colour of a decision; most calls are allowed, and plain.
func decisionColour(decision string) string {
	switch decision {
	case "allow":
		return ""
	case "ask":
		return yellow
	default:
		return red
	}
}

// what names what a call was for: the name offered, or else the method.
func what(c *client.CallRecord) string {
	switch {
	case c.Method == "tools/call" && c.FullName != "":
		return c.FullName
	case c.FullName != "":
		return c.Method + " " + c.FullName
	default:
		return c.Method
	}
}

// by names who made a call.
func by(c *client.CallRecord) string {
	parts := []string{c.Principal, string(c.Entrance)}
	if c.Client.Name != "" {
		parts = append(parts, strings.TrimSpace(c.Client.Name+" "+c.Client.Version))
	}
	if c.Process != "" {
		parts = append(parts, c.Process)
	}
	return strings.Join(parts, ", ")
}

// bytesText is a number of bytes for people.
func bytesText(n int64) string {
	const unit = 1024
	if n < 10*unit {
		return fmt.Sprintf("%d bytes", n)
	}
	value, name := float64(n)/unit, "KiB"
	for _, next := range []string{"MiB", "GiB", "TiB"} {
		if value < unit {
			break
		}
		value, name = value/unit, next
	}
	return fmt.Sprintf("%.1f %s", value, name)
}
