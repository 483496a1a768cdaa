package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"durward"
)

// Call calls a tool. progress, which may be nil, is called with what the call
// says while it is under way. The error is of the kind that the service gave:
// NotFound or Invalid when the tool is not known or refuses its arguments,
// Unavailable when nothing was executed, Unknown when it may have been.
func (c *Client) Call(ctx context.Context, r CallRequest, progress func(Progress)) (*Result, error) {
	var result *Result
	err := c.stream(ctx, http.MethodPost, "/api/v1/call", r, func(name string, data []byte) (bool, error) {
		switch name {
		case "progress":
			var p Progress
			if err := json.Unmarshal(data, &p); err == nil && progress != nil {
				progress(p)
			}
		case "result":
			result = &Result{}
			return true, json.Unmarshal(data, result)
		case "error":
			return true, failureOf(data)
		}
		return false, nil
	})
	var lost *lostError
	switch {
	case err == nil && result == nil:
		err = durward.Errorf(durward.Unknown, "", "the service ended before it answered; the call may have been executed")
	case errors.As(err, &lost):
		err = durward.Errorf(durward.Unknown, "", "%w; the call may have been executed", err)
	}
	return result, err
}

// Events calls f with what happens in the service, until ctx ends, f returns
// false or the service ends. The error is nil if ctx or f ended it.
func (c *Client) Events(ctx context.Context, f func(Event) bool) error {
	return watch(ctx, c, "/api/v1/events", f)
}

// watch calls f with each event of a stream, whatever its name, until ctx ends, f
// returns false or the service ends. The error is nil if ctx or f ended it.
func watch[E any](ctx context.Context, c *Client, path string, f func(E) bool) error {
	over := false
	err := c.stream(ctx, http.MethodGet, path, nil, func(_ string, data []byte) (bool, error) {
		var e E
		if err := json.Unmarshal(data, &e); err != nil {
			return true, err
		}
		over = !f(e)
		return over, nil
	})
	if ctx.Err() != nil {
		err = nil
	} else if err == nil && !over {
		err = durward.Errorf(durward.Unavailable, "", "the service ended")
	}
	return err
}

// stream reads server-sent events until f says that it is over or the stream ends.
func (c *Client) stream(ctx context.Context, method, path string, body any, f func(name string, data []byte) (bool, error)) (err error) {
	resp, err := c.open(ctx, method, path, body, "text/event-stream")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	in := bufio.NewReader(resp.Body)
	name, data := "", []byte(nil)
	for {
		line, err := readLine(in)
		if err != nil {
			return broken(ctx, err)
		}
		key, value, _ := bytes.Cut(line, []byte(": "))
		switch {
		case len(line) == 0 && data != nil:
			over, err := f(name, data)
			if over || err != nil {
				return err
			}
			name, data = "", nil
		case string(key) == "event":
			name = string(value)
		case string(key) == "data": // the service sends one line of data per event
			data = bytes.Clone(value)
		}
	}
}

// readLine reads a line of at most maxAnswer bytes, without its end.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > maxAnswer {
			return nil, durward.Errorf(durward.Unavailable, "", "the service sent a line of more than %d bytes", maxAnswer)
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimSuffix(line, []byte("\n")), err
		}
	}
}

// broken says why a stream ended; nil if the service ended it.
func broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return &lostError{durward.Errorf(durward.Unavailable, "", "the connection to the service broke: %w", err)}
}
