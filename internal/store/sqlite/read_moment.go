package sqlite

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"unicode/utf8"

	"durward/ledger"
)

// summaryMost bounds what a timeline says of one thing, in bytes.
const summaryMost = 240

// momentSQL reads what a timeline shows of one row: first its time and trace.
//
//	SEARCH x USING INTEGER PRIMARY KEY (rowid=?)
//	SEARCH i USING INDEX intents_id (id=?) LEFT-JOIN
func momentSQL(st stream) string {
	const ofCall = " x LEFT JOIN intents i ON i.id = x.call WHERE x.seq = ?"
	switch st {
	case streamDecisions:
		return "SELECT x.at, i.trace, x.call, x.effective, x.stage, x.rule, x.action, x.detection FROM decisions" + ofCall
	case streamApprovals:
		return "SELECT x.at, i.trace, x.id, x.status, x.call, x.by, x.scope, x.reason FROM approvals" + ofCall
	case streamFlows:
		return "SELECT x.at, i.trace, x.call, x.decision, x.method, x.host, x.port, x.path, x.status FROM http_requests" + ofCall
	case streamEvents:
		return "SELECT at, trace, layer, sandbox, what, detail FROM events WHERE seq = ?"
	case streamChanges:
		return "SELECT at, NULL, target, who, what, old_hash, new_hash, detail FROM changes WHERE seq = ?"
	default:
		return "SELECT at, NULL, what, detail FROM notes WHERE seq = ?"
	}
}

func callMoment(r *ledger.Row) ledger.Moment {
	name := r.FullName
	if name == "" {
		name = r.Tool
	}
	m := ledger.Moment{At: r.At, Layer: layerTool, Ref: string(r.ID), Summary: shorten(joined(" ", r.Method, name)), Status: string(statusDispatched)}
	if r.Outcome != nil {
		m.Status, m.Duration = string(r.Outcome.Status), r.Outcome.Duration
	}
	if r.TraceID != [16]byte{} {
		m.TraceID = fmt.Sprintf("%x", r.TraceID)
	}
	return m
}

func decisionSummary(stage, rule, action, detection string) string {
	s := joined(" ", stage, "rule", rule, "wants", action)
	if detection != "" {
		s += " (" + detection + ")"
	}
	return s
}

func approvalSummary(call, by, scope, reason string) string {
	s := "question about call " + call
	if by != "" {
		s += ", answered by " + by
	}
	if scope != "" {
		s += " for the " + scope
	}
	if reason != "" {
		s += ": " + reason
	}
	return s
}

func flowSummary(method, host string, port int64, path string, status int64) string {
	if port != 0 {
		host = net.JoinHostPort(host, strconv.FormatInt(port, 10))
	}
	s := joined(" ", method, host+path)
	if status != 0 {
		s += " " + strconv.FormatInt(status, 10)
	}
	return s
}

// changeSummary says what became of what, by their digests or names.
func changeSummary(who, what, from, to, detail string) string {
	if from == to {
		return joined(" ", who, what, detail)
	}
	return joined(" ", who, what, "("+joined(" ", shortDigest(from), "→", shortDigest(to))+")", detail)
}

// shortDigest is the beginning of a digest; what is none stays as it is.
func shortDigest(text string) string {
	const most = 12
	if strings.Trim(text, "0123456789abcdef") != "" || len(text) <= most {
		return text
	}
	return text[:most]
}

// eventLayer is the layer of a timeline that shows events of a layer.
func eventLayer(of string) string {
	for _, l := range layers() {
		if of != "" && l.events == of {
			return l.name
		}
	}
	return of
}

// joined joins what is not empty.
func joined(by string, parts ...string) string {
	var all []string
	for _, p := range parts {
		if p != "" {
			all = append(all, p)
		}
	}
	return strings.Join(all, by)
}

// shorten cuts a text on a rune, with an ellipsis.
func shorten(text string) string {
	if len(text) <= summaryMost {
		return text
	}
	cut := summaryMost
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}
