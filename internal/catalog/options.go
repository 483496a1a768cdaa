package catalog

import "time"

// The ways the aggregate names what servers offer.
const (
	PrefixServer = "server" // <server>__<tool>; the default
	PrefixNone   = "none"   // names and URIs untouched; for exactly one server
)

// Options configure a Catalog. The zero value of a field means its default.
type Options struct {
	Prefix string // of the aggregate: PrefixServer (default) or PrefixNone

	PageBytes int           // a page ends before the item that would make it longer; default 8 MiB
	PageItems int           // items on a page; default 10,000
	TTL       time.Duration // how long a modern client may keep a list; default 5 s; negative: not at all
	Info      []byte        // raw serverInfo that modern results carry in `_meta`; nil: none

	// Pins knows what servers offered before. Default: nothing is held.
	Pins Pins

	InstructionsCap int // bytes of merged instructions; default 16 KiB

	MaxItems       int // tools of one server, and its prompts, and its resources; default 10,000
	MaxTemplates   int // resource templates of one server; default 1,000
	MaxItemBytes   int // one item; default 4 MiB
	MaxListBytes   int // all items of one kind of one server; default 64 MiB
	MaxSchema      int // bytes of an inputSchema or outputSchema; default 1 MiB
	MaxDescription int // bytes of a description; default 64 KiB
}

func (o Options) withDefaults() Options {
	if o.Prefix != PrefixNone {
		o.Prefix = PrefixServer
	}
	if o.TTL == 0 {
		o.TTL = 5 * time.Second
	}
	o.TTL = max(o.TTL, 0)
	for _, d := range []struct {
		field *int
		value int
	}{
		{&o.PageBytes, 8 << 20},
		{&o.PageItems, 10_000},
		{&o.InstructionsCap, 16 << 10},
		{&o.MaxItems, 10_000},
		{&o.MaxTemplates, 1_000},
		{&o.MaxItemBytes, 4 << 20},
		{&o.MaxListBytes, 64 << 20},
		{&o.MaxSchema, 1 << 20},
		{&o.MaxDescription, 64 << 10},
	} {
		if *d.field <= 0 {
			*d.field = d.value
		}
	}
	return o
}
