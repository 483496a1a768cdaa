package sqlite

import (
	"durward"
	"durward/ledger"
)

// namesMost bounds the combinations of each kind that the writer remembers. Whoever
// makes up a new name for each call pays for a look into the file each time.
const namesMost = 4096

// names knows the numbers of who calls, of what is called and of what was decided.
type names struct {
	callers  map[callerKey]int64
	targets  map[targetKey]int64
	verdicts map[verdictKey]int64
}

// callerKey is a row of callers, targetKey of targets, verdictKey of verdicts.
type callerKey struct {
	session, principal, entrance, process, client, version, route, era string
}

type targetKey struct {
	server, method, tool, fullName, origin, transport string
	risk                                              durward.Risk
}

type verdictKey struct {
	action              durward.Action
	rule, layer, reason string
}

func newNames() *names {
	return &names{map[callerKey]int64{}, map[targetKey]int64{}, map[verdictKey]int64{}}
}

// number returns the number of a key: the one that is remembered, or that the file
// has, or that it is given now, by the record seq.
func number[K comparable](known map[K]int64, key K, c *conn, find, insert string, seq int64, columns ...value) (int64, error) {
	if id, ok := known[key]; ok {
		return id, nil
	}
	id, ok, err := c.number(find, columns...)
	if err != nil {
		return 0, err
	}
	if !ok {
		r, err := c.exec(insert, append(columns, seq)...)
		if err != nil {
			return 0, err
		}
		if id, err = r.LastInsertId(); err != nil {
			return 0, err
		}
	}
	if len(known) >= namesMost {
		clear(known)
	}
	known[key] = id
	return id, nil
}

const (
	findCaller = "SELECT id FROM callers WHERE session = ? AND principal = ? AND entrance = ? AND process = ? AND client = ? AND client_version = ? AND route = ? AND era = ?"
	newCaller  = "INSERT INTO callers (session, principal, entrance, process, client, client_version, route, era, last) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"

	findTarget = "SELECT id FROM targets WHERE server = ? AND method = ? AND tool = ? AND full_name = ? AND origin = ? AND transport = ? AND risk = ?"
	newTarget  = "INSERT INTO targets (server, method, tool, full_name, origin, transport, risk, last) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"

	findVerdict = "SELECT id FROM verdicts WHERE action = ? AND rule = ? AND layer = ? AND reason = ?"
	newVerdict  = "INSERT INTO verdicts (action, rule, layer, reason, last) VALUES (?, ?, ?, ?, ?)"
)

func (n *names) caller(c *conn, i *ledger.Intent, seq int64) (int64, error) {
	k := callerKey{string(i.Session), i.Principal, string(i.Entrance), i.Process, i.Client.Name, i.Client.Version, i.Route, i.Era}
	if id, ok := n.callers[k]; ok { // before the values are put into interfaces
		return id, nil
	}
	return number(n.callers, k, c, findCaller, newCaller, seq, idValue(k.session), k.principal, k.entrance, k.process, k.client, k.version, k.route, k.era)
}

func (n *names) target(c *conn, i *ledger.Intent, seq int64) (int64, error) {
	k := targetKey{i.Server, i.Method, i.Tool, i.FullName, string(i.Origin), string(i.Transport), i.Risk}
	if id, ok := n.targets[k]; ok {
		return id, nil
	}
	return number(n.targets, k, c, findTarget, newTarget, seq, k.server, k.method, k.tool, k.fullName, k.origin, k.transport, int64(k.risk))
}

func (n *names) verdict(c *conn, i *ledger.Intent, seq int64) (int64, error) {
	k := verdictKey{i.Action, i.Rule, i.Layer, i.Reason}
	if id, ok := n.verdicts[k]; ok {
		return id, nil
	}
	return number(n.verdicts, k, c, findVerdict, newVerdict, seq, int64(k.action), k.rule, k.layer, k.reason)
}
