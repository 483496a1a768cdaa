package upstream

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"durward"
	"durward/internal/wire"
)

// Listing is all that a server offers, as raw bytes. It does not change after it
// was handed out.
type Listing struct {
	Tools, Prompts, Resources, Templates [][]byte // JSON objects as the server sent them

	Capabilities []byte // raw; nil when the server sent none
	Info         []byte // raw serverInfo; nil when it sent none
	Instructions string
	Era          wire.Era
	Revision     string

	// Overlay is set for what legacy requesters are offered by a server of both
	// eras that runs a process of its own for them. Others are offered the rest.
	Overlay bool

	// Announced are the lists the server said had changed. Clients are told of
	// them even if nothing differs any more: it may have changed there and back.
	Announced Announced

	// Complete is false while a kind the server declares could not be read yet;
	// what of it was read before is still there then.
	Complete bool
}

// shelf is the catalog as one connection lists it. Guarded by Server.mu.
type shelf struct {
	listing *Listing
	listed  bool // it was read to its end once
	failed  [kindCount]string
}

func newShelf() shelf { return shelf{listing: &Listing{}} }

// Announced says of which lists a server sent list_changed.
type Announced struct{ Tools, Prompts, Resources bool }

func (k kinds) announced() Announced {
	return Announced{
		Tools: k&(1<<kindTools) != 0, Prompts: k&(1<<kindPrompts) != 0,
		Resources: k&(1<<kindResources|1<<kindTemplates) != 0,
	}
}

// kind is one of the lists.
type kind uint8

const (
	kindTools kind = iota
	kindPrompts
	kindResources
	kindTemplates
	kindCount
)

// kinds is a set of kinds, one bit each.
type kinds uint8

func everyKind() kinds { return 1<<kindCount - 1 }

func (k kind) String() string { return k.member() }

func (k kind) method() string {
	return [...]string{wire.MethodToolsList, wire.MethodPromptsList, wire.MethodResourcesList, wire.MethodTemplatesList}[k]
}

// member is the name of the array in a page.
func (k kind) member() string {
	return [...]string{"tools", "prompts", "resources", "resourceTemplates"}[k]
}

func (k kind) capability() string {
	return [...]string{"tools", "prompts", "resources", "resources"}[k]
}

func (l *Listing) items(k kind) *[][]byte {
	return [...]*[][]byte{&l.Tools, &l.Prompts, &l.Resources, &l.Templates}[k]
}

// same reports whether nothing differs that an Observer could see.
func (l *Listing) same(o *Listing) bool {
	if l.Complete != o.Complete || l.Era != o.Era || l.Revision != o.Revision || l.Instructions != o.Instructions ||
		!bytes.Equal(l.Capabilities, o.Capabilities) || !bytes.Equal(l.Info, o.Info) {
		return false
	}
	for k := range kindCount {
		if !slices.EqualFunc(*l.items(k), *o.items(k), bytes.Equal) {
			return false
		}
	}
	return true
}

// list reads one list to its end. A kind the server did not declare is asked for
// only if it is tools, which some servers offer without a word; then, and for
// templates, which come with resources or not, a refusal means that there are none.
func (c *conn) list(ctx context.Context, k kind) ([][]byte, error) {
	declared := c.declares(k.capability(), "")
	if !declared && k != kindTools {
		return nil, nil
	}
	items, err := c.pages(ctx, k, time.Now().Add(c.s.opt.Spec.Timeout))
	var coded *wire.CodeError
	if errors.As(err, &coded) && (!declared || k == kindTemplates && coded.Code == wire.CodeMethodNotFound) {
		return nil, nil
	}
	return items, err
}

func (c *conn) pages(ctx context.Context, k kind, deadline time.Time) ([][]byte, error) {
	limits := &c.s.opt.Limits
	seen := map[string]bool{}
	var items [][]byte
	var params []byte
	size := 0
	for range limits.Pages {
		reply, err := c.callWithin(ctx, k.method(), params, deadline)
		if err != nil {
			return nil, err
		}
		if size += len(reply.Result); size > limits.ListBytes {
			return nil, c.tooMuch(k, "bytes", limits.ListBytes, "limits.list")
		}
		var cursor []byte
		if items, cursor, err = c.page(k, items, reply.Result); err != nil || cursor == nil {
			return items, err
		}
		if seen[string(cursor)] {
			return nil, durward.Errorf(durward.Invalid, c.s.op(), "%s does not end: the server gave the cursor %.100s twice", k.method(), cursor)
		}
		seen[string(cursor)] = true
		params = append(append([]byte(`{"cursor":`), cursor...), '}')
	}
	return nil, c.tooMuch(k, "pages", limits.Pages, "limits.pages")
}

func (c *conn) tooMuch(k kind, what string, limit int, key string) error {
	return durward.Errorf(durward.Invalid, c.s.op(), "%s gives more than %d %s; raise %s if that is intended", k.method(), limit, what, key)
}

// page appends the items of one page and returns the cursor of the next, nil if it was the last.
func (c *conn) page(k kind, items [][]byte, result []byte) ([][]byte, []byte, error) {
	array := wire.Get(result, k.member())
	if len(array) == 0 || array[0] != '[' {
		return nil, nil, durward.Errorf(durward.Invalid, c.s.op(), "the result of %s has no array %q", k.method(), k.member())
	}
	for at := range wire.Elements(array) {
		item := at.Of(array)
		if len(item) == 0 || item[0] != '{' {
			c.s.count("bad-list-item", 1)
			continue
		}
		if len(items) >= c.s.opt.Limits.Items {
			return nil, nil, c.tooMuch(k, "items", c.s.opt.Limits.Items, "limits.items")
		}
		items = append(items, item)
	}
	cursor := wire.Get(result, "nextCursor")
	if text, ok := wire.Unquote(cursor); !ok || text == "" {
		cursor = nil // absent, null or empty: the end
	}
	return items, cursor, nil
}
