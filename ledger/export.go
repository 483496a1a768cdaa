package ledger

import (
	"context"

	"durward"
)

const (
	exportOp = "ledger export"
	// exportPage is how many calls are in memory at a time.
	exportPage = 500
)

// ExportOptions configure [ExportNDJSON] and [ExportCSV].
type ExportOptions struct {
	Filter   Filter // Cursor is where to begin; Limit does not count
	Bodies   bool   // with the whole requests and responses; NDJSON only
	Progress Progress
}

// StoryReader is a [Reader] that reads everything about a page of calls at once.
// [Export] asks it when it can: that takes a fraction of what asking for each does.
type StoryReader interface {
	Stories(ctx context.Context, f Filter) (StoryPage, error)
}

// Export calls f for each call that a filter chooses, newest first, with everything
// that belongs to it. It holds a page of them in memory. A call that is pruned
// meanwhile is left out. An error of f ends the export and is returned as it is.
func Export(ctx context.Context, r Reader, filter Filter, f func(*Story) error) error {
	read := storiesOf(r)
	filter.Limit = exportPage
	for {
		page, err := read(ctx, filter)
		if err != nil {
			return exportError(ctx, err)
		}
		for _, s := range page.Stories {
			if ctx.Err() != nil {
				return exportError(ctx, ctx.Err())
			}
			if err := f(s); err != nil {
				return err
			}
		}
		if page.Next == "" {
			return nil
		}
		filter.Cursor = page.Next
	}
}

// storiesOf returns how a reader reads stories: at once, or one by one.
func storiesOf(r Reader) func(context.Context, Filter) (StoryPage, error) {
	if r, ok := r.(StoryReader); ok {
		return r.Stories
	}
	return func(ctx context.Context, f Filter) (StoryPage, error) {
		page, err := r.Calls(ctx, f)
		out := StoryPage{Next: page.Next}
		for i := 0; i < len(page.Rows) && err == nil; i++ {
			var s *Story
			s, err = r.Call(ctx, string(page.Rows[i].ID))
			if durward.KindOf(err) == durward.NotFound {
				err = nil
				continue
			}
			out.Stories = append(out.Stories, s)
		}
		return out, err
	}
}

func exportError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return durward.Errorf(durward.Unavailable, exportOp, "interrupted; what was written until then is whole lines: %w", context.Cause(ctx))
	}
	return durward.Errorf(durward.KindOf(err), exportOp, "%w", bare(err))
}

// export is Export with progress.
func export(ctx context.Context, r Reader, opt ExportOptions, f func(*Story) error) error {
	of := int64(0)
	if opt.Progress != nil {
		counted := opt.Filter
		counted.Cursor, counted.Limit = "", 0
		stats, err := r.Stats(ctx, counted)
		if err != nil {
			return exportError(ctx, err)
		}
		of = stats.Calls
	}
	m := newMeter(opt.Progress, of)
	err := Export(ctx, r, opt.Filter, func(s *Story) error {
		if err := f(s); err != nil {
			return err
		}
		m.add(1)
		return nil
	})
	if err == nil {
		m.end()
	}
	return err
}

// writeError is what a failed write of an export comes to.
func writeError(err error) error {
	return durward.Errorf(durward.Unavailable, exportOp, "what is exported cannot be written: %w", err)
}
