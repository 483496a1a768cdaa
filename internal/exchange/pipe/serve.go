package pipe

import (
	"errors"
	"io"

	"durward"
	"durward/internal/exchange"
	"durward/internal/wire"
)

// Serve is the far end: it opens one link with open, as the core's end asks, and
// carries messages both ways until the link sent Closed. It owns rw and closes
// it. It returns nil after an orderly end, else why the core's end was lost; in
// that case the link was closed first, and its end awaited.
//
// The sink it hands to open blocks while the core does not read.
func Serve(rw io.ReadWriteCloser, open func(exchange.LinkSpec, exchange.Sink) exchange.Link) error {
	defer rw.Close()
	frame, err := readFrame(rw, wire.MaxMessage+frameOverhead)
	if err != nil {
		return lostCore(err)
	}
	m, err := decode(frame)
	if err != nil {
		return lostCore(err)
	}
	spec, ok := m.(*exchange.LinkSpec)
	if !ok {
		return lostCore(errors.New("the first frame does not open a link"))
	}
	far := &farEnd{rw: rw, framer: newFramer(frameLimit(spec)), ended: make(chan struct{})}
	far.link = open(*spec, far)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		err = far.read()
	}()
	select {
	case <-far.ended:
		rw.Close() // ends the reader
		<-stopped
		return nil
	case <-stopped:
		far.link.Close()
		<-far.ended
		if far.told {
			return nil // it hung up because it has Closed
		}
		return lostCore(err)
	}
}

func lostCore(err error) error {
	if errors.Is(err, io.EOF) {
		return durward.Errorf(durward.Unavailable, "pipe", "the core closed the link")
	}
	return durward.Errorf(durward.Unavailable, "pipe", "the link to the core is broken: %w", err)
}

// farEnd is the sink of the real link.
type farEnd struct {
	rw     io.ReadWriteCloser
	framer *framer
	link   exchange.Link
	ended  chan struct{} // closed after Closed was sent, or could not be
	told   bool          // the core has Closed; set before ended is closed
}

// Receive sends m to the core. A write that fails is of no interest here: the
// reader sees the same end.
func (f *farEnd) Receive(m exchange.Message) {
	err := f.send(m)
	if durward.KindOf(err) == durward.Invalid {
		f.tooLarge(m, err)
	}
	if _, ok := m.(*exchange.Closed); ok {
		f.told = err == nil
		close(f.ended)
	}
}

func (f *farEnd) send(m exchange.Message) error {
	return f.framer.frame(func(p *packer) { p.message(m) }, func(frame []byte) error {
		if _, err := f.rw.Write(frame); err != nil {
			return durward.Errorf(durward.Unavailable, "pipe", "%w", err)
		}
		return nil
	})
}

// tooLarge says in place of m that it did not fit into a frame.
func (f *farEnd) tooLarge(m exchange.Message, err error) {
	switch m := m.(type) {
	case *exchange.Response:
		_ = f.send(&exchange.Response{ID: m.ID, Fault: &exchange.Fault{Kind: uint8(durward.Unknown), Message: err.Error(), Delivered: true}})
	case *exchange.Closed:
		_ = f.send(&exchange.Closed{Phase: m.Phase, Fault: exchange.Fault{Kind: uint8(durward.Internal), Message: err.Error()}})
	default:
		_ = f.send(&exchange.Anomaly{Kind: "oversized", Count: 1})
	}
}

// read hands what the core sends to the link, until the stream ends or a frame
// cannot be read.
func (f *farEnd) read() error {
	for {
		frame, err := readFrame(f.rw, f.framer.limit)
		if err != nil {
			return err
		}
		m, err := decode(frame)
		if err != nil {
			return err
		}
		switch m := m.(type) {
		case *exchange.Call:
			f.call(m)
		case *exchange.Cancel, *exchange.Notification, *exchange.Response:
			_ = f.link.Send(m.(exchange.Message)) // the core expects no answer to these
		case closeLink:
			f.link.Close()
		default:
			return errors.New("a frame of the core that does not go this way")
		}
	}
}

// call answers in the link's place when the link does not take the call.
func (f *farEnd) call(m *exchange.Call) {
	var err error
	if raw := m.Params.Raw; raw != nil {
		if err = wire.ParseParams(raw, &m.Params); err != nil {
			err = wire.InvalidRequest(err)
		}
	}
	if err == nil {
		err = f.link.Send(m)
	}
	if err != nil {
		_ = f.send(&exchange.Response{ID: m.ID, Fault: &exchange.Fault{Kind: uint8(durward.KindOf(err)), Message: err.Error()}})
	}
}
