package guard

import (
	"context"
	"encoding/json"

	"durward"
	"durward/internal/approval"
)

var _ approval.Store = (*DB)(nil)

// AddGrant implements approval.Store.
func (d *DB) AddGrant(ctx context.Context, g *approval.Grant) error {
	rules, err := json.Marshal(g.Rules)
	if err != nil {
		return err
	}
	pairs := make([][2]string, 0, len(g.Patterns))
	for _, p := range g.Patterns {
		pairs = append(pairs, [2]string{p.Pointer, p.Glob})
	}
	patterns, err := json.Marshal(pairs)
	if err != nil {
		return err
	}
	return d.write(ctx, `INSERT INTO grants
		(id, principal, rules, method, server, tool, pin, arguments, patterns, created, expires, by, reason, preview)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		g.ID, g.Principal, string(rules), g.Method, g.Server, g.Tool, g.Pin, g.Arguments, string(patterns), micros(g.Created), micros(g.Expires), g.By, g.Reason, g.Preview)
}

// Grants implements approval.Store. One that cannot be read is an error: nobody
// would know what it was for.
func (d *DB) Grants(ctx context.Context) ([]approval.Grant, error) {
	rows, err := d.db.QueryContext(ctx, `SELECT id, principal, rules, method, server, tool, pin, arguments, patterns, created, expires, by, reason, preview
		FROM grants ORDER BY created, id`)
	if err != nil {
		return nil, d.explain(err)
	}
	defer func() { _ = rows.Close() }() // rows.Err says what went wrong
	var all []approval.Grant
	for rows.Next() {
		g := approval.Grant{Scope: durward.ScopeGrant}
		var rules, patterns string
		var created, expires int64
		err := rows.Scan(&g.ID, &g.Principal, &rules, &g.Method, &g.Server, &g.Tool, &g.Pin, &g.Arguments, &patterns, &created, &expires, &g.By, &g.Reason, &g.Preview)
		if err != nil {
			return nil, d.explain(err)
		}
		g.Created, g.Expires = timeOf(created), timeOf(expires)
		var pairs [][2]string
		if json.Unmarshal([]byte(rules), &g.Rules) != nil || json.Unmarshal([]byte(patterns), &pairs) != nil {
			return nil, durward.Errorf(durward.Unavailable, "guard", "the grant %s in %s is damaged; restore the file, or move it away to begin with no grants and no pins", g.ID, d.path)
		}
		for _, p := range pairs {
			g.Patterns = append(g.Patterns, approval.Pattern{Pointer: p[0], Glob: p[1]})
		}
		all = append(all, g)
	}
	return all, d.explain(rows.Err())
}

// RemoveGrant implements approval.Store.
func (d *DB) RemoveGrant(ctx context.Context, id string) error {
	return d.write(ctx, "DELETE FROM grants WHERE id = ?", id)
}
