package daemon

import (
	"context"
	"encoding/hex"
	"io"
	"time"

	"durward"
	"durward/client"
	"durward/internal/control"
	"durward/internal/ledgerapi"
	"durward/ledger"
)

// readings answers what was recorded, for the service API.
type readings Service

var _ control.Ledger = (*readings)(nil)

// Calls implements control.Ledger.
func (r *readings) Calls(ctx context.Context, f client.CallFilter) (*client.CallList, error) {
	b, err := (*Service)(r).there()
	if err != nil {
		return nil, err
	}
	filter, err := ledgerapi.CallFilter(&f, time.Now())
	if err != nil {
		return nil, err
	}
	page, err := b.current(ctx).Calls(ctx, filter)
	if err != nil {
		return nil, err
	}
	list := &client.CallList{Calls: make([]client.CallRecord, 0, len(page.Rows)), Next: page.Next}
	for i := range page.Rows {
		list.Calls = append(list.Calls, ledgerapi.Call(&page.Rows[i]))
	}
	return list, nil
}

// Call implements control.Ledger.
func (r *readings) Call(ctx context.Context, id string) (*client.CallStory, error) {
	b, err := (*Service)(r).there()
	if err != nil {
		return nil, err
	}
	story, err := b.current(ctx).Call(ctx, id)
	if err != nil {
		return nil, err
	}
	return ledgerapi.Story(story), nil
}

// Body implements control.Ledger.
func (r *readings) Body(ctx context.Context, digest string) (io.ReadCloser, *client.BodyInfo, error) {
	b, err := (*Service)(r).there()
	if err != nil {
		return nil, nil, err
	}
	var d ledger.Digest
	if raw, err := hex.DecodeString(digest); err != nil || copy(d[:], raw) != len(d) || len(raw) != len(d) {
		return nil, nil, durward.Errorf(durward.Invalid, "", "a digest is 64 hex digits")
	}
	body, info, err := b.current(ctx).Body(ctx, d)
	if err != nil {
		return nil, nil, err
	}
	return body, &client.BodyInfo{Digest: digest, Original: info.Original, Truncated: info.Truncated}, nil
}

// Timeline implements control.Ledger.
func (r *readings) Timeline(ctx context.Context, f client.TimelineFilter) (*client.MomentList, error) {
	b, err := (*Service)(r).there()
	if err != nil {
		return nil, err
	}
	filter, err := ledgerapi.TimelineFilter(&f, time.Now())
	if err != nil {
		return nil, err
	}
	page, err := b.current(ctx).Timeline(ctx, filter)
	if err != nil {
		return nil, err
	}
	list := &client.MomentList{Moments: make([]client.Moment, 0, len(page.Moments)), Next: page.Next}
	for i := range page.Moments {
		list.Moments = append(list.Moments, ledgerapi.Moment(&page.Moments[i]))
	}
	return list, nil
}

// Stats implements control.Ledger.
func (r *readings) Stats(ctx context.Context, f client.CallFilter) (*client.CallStats, error) {
	b, err := (*Service)(r).there()
	if err != nil {
		return nil, err
	}
	filter, err := ledgerapi.CallFilter(&f, time.Now())
	if err != nil {
		return nil, err
	}
	stats, err := b.current(ctx).Stats(ctx, filter)
	if err != nil {
		return nil, err
	}
	return ledgerapi.Stats(stats), nil
}
