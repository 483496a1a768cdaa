package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"durward"
)

// maxAnswer bounds an answer of the service, in bytes.
const maxAnswer = 64 << 20

func (c *Client) get(ctx context.Context, path string, into any) error {
	return c.send(ctx, http.MethodGet, path, nil, into)
}

// send makes a request with a JSON body, if body is not nil, and reads the JSON
// answer into into, if that is not nil.
func (c *Client) send(ctx context.Context, method, path string, body, into any) (err error) {
	resp, err := c.open(ctx, method, path, body, "application/json")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	if into == nil {
		return nil
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(into); err != nil {
		return durward.Errorf(durward.Unavailable, "", "the answer of the service cannot be read: %w", err)
	}
	return nil
}

// open makes a request and returns the answer if it is no error.
func (c *Client) open(ctx context.Context, method, path string, body any, accept string) (*http.Response, error) {
	var payload io.Reader = http.NoBody
	if body != nil {
		var data bytes.Buffer
		enc := json.NewEncoder(&data)
		enc.SetEscapeHTML(false) // arguments go to the server as they are written
		if err := enc.Encode(body); err != nil {
			return nil, durward.Errorf(durward.Invalid, "", "the request cannot be encoded: %w", err)
		}
		payload = &data
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://"+c.host+path, payload)
	if err != nil {
		return nil, err
	}
	c.authorize(req.Header)
	req.Header.Set("Accept", accept)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.failed(ctx, err)
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		return nil, errors.Join(refused(resp), resp.Body.Close())
	}
	return resp, nil
}

// failed says why no answer came.
func (c *Client) failed(ctx context.Context, err error) error {
	var known *durward.Error
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return durward.Errorf(durward.Timeout, "", "the service did not answer in time")
	case ctx.Err() != nil:
		return ctx.Err()
	default:
		return &lostError{c.unreachable(err)}
	}
}

// lostError is what becomes of a request that may have reached the service: what it
// asked for may have been done.
type lostError struct{ error }

// Unwrap returns the error.
func (l *lostError) Unwrap() error { return l.error }

// refused reads the service's structured error.
func refused(resp *http.Response) error {
	var body Failure
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(&body); err != nil || body.Error.Message == "" {
		return durward.Errorf(durward.Internal, "", "the service answered %s", resp.Status)
	}
	return body.Error.err()
}

// failureOf is the error that an event of a stream tells.
func failureOf(data []byte) error {
	var f Failure
	if err := json.Unmarshal(data, &f); err != nil {
		return err
	}
	return f.Error.err()
}

func (f *FailureDetail) err() error {
	kind, err := durward.ParseKind(f.Kind)
	if err != nil {
		return durward.Errorf(durward.Internal, "", "the service answered: %s", f.Message)
	}
	return &durward.Error{Kind: kind, Message: f.Message}
}
