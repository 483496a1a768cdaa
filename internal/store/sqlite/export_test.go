package sqlite

// WithSegments makes segments small, so that few rows make many of them.
func WithSegments(o Options, calls, others, amend int) Options {
	o.sizes = segmentSizes{calls, others, amend}
	return o
}
