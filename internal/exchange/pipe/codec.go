package pipe

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"durward/internal/exchange"
	"durward/internal/wire"
)

// kind is the first element of a frame.
type kind uint8

const (
	kindOpen kind = iota + 1 // the LinkSpec, once, from the core
	kindClose
	kindCall
	kindCancel
	kindResponse
	kindNotification
	kindServerRequest
	kindOpened
	kindAnomaly
	kindClosed
)

// fields is how many elements follow the kind.
func (k kind) fields() int {
	switch k {
	case kindOpen:
		return 11
	case kindClose:
		return 0
	case kindCall:
		return 17
	case kindCancel:
		return 2
	case kindResponse:
		return 14
	case kindNotification, kindAnomaly:
		return 3
	case kindServerRequest:
		return 4
	case kindOpened:
		return 6
	case kindClosed:
		return 10
	default:
		return -1
	}
}

// closeLink is the frame for Link.Close; it is no link message.
type closeLink struct{}

// packer writes MessagePack to memory, which does not fail.
type packer struct {
	buf bytes.Buffer
	enc *msgpack.Encoder
	err error
}

func newPacker() *packer {
	p := &packer{}
	p.enc = msgpack.NewEncoder(&p.buf)
	return p
}

func (p *packer) note(err error) {
	if p.err == nil {
		p.err = err
	}
}

func (p *packer) begin(k kind) {
	p.note(p.enc.EncodeArrayLen(1 + k.fields()))
	p.number(uint64(k))
}
func (p *packer) number(n uint64) { p.note(p.enc.EncodeUint(n)) }
func (p *packer) signed(n int64)  { p.note(p.enc.EncodeInt(n)) }
func (p *packer) text(s string)   { p.note(p.enc.EncodeString(s)) }
func (p *packer) bytes(b []byte)  { p.note(p.enc.EncodeBytes(b)) }
func (p *packer) flag(b bool)     { p.note(p.enc.EncodeBool(b)) }

// spec packs the opening frame.
func (p *packer) spec(s *exchange.LinkSpec) {
	p.begin(kindOpen)
	p.text(s.Server)
	p.number(uint64(s.Era))
	p.text(s.Revision)
	p.bytes(s.ClientInfo)
	p.bytes(s.Capabilities)
	p.signed(int64(s.ProbeTimeout))
	p.signed(int64(s.InitTimeout))
	p.signed(int64(s.MaxMessage))
	p.text(s.URL)
	p.flag(s.Headers != nil)
	p.note(p.enc.EncodeMapLen(len(s.Headers)))
	for name, value := range s.Headers {
		p.text(name)
		p.text(value)
	}
}

// message packs any link message; others are an error.
func (p *packer) message(m exchange.Message) {
	switch m := m.(type) {
	case *exchange.Call:
		p.call(m)
	case *exchange.Cancel:
		p.begin(kindCancel)
		p.number(m.ID)
		p.text(m.Reason)
	case *exchange.Response:
		p.response(m)
	case *exchange.Notification:
		p.begin(kindNotification)
		p.number(m.Related)
		p.text(m.Method)
		p.bytes(m.Params)
	case *exchange.ServerRequest:
		p.begin(kindServerRequest)
		p.number(m.ID)
		p.number(m.Related)
		p.text(m.Method)
		p.bytes(m.Params)
	case *exchange.Opened:
		p.begin(kindOpened)
		p.number(uint64(m.Era))
		p.text(m.Revision)
		p.bytes(m.Info)
		p.bytes(m.Capabilities)
		p.text(m.Instructions)
		p.flag(m.LegacyToo)
	case *exchange.Anomaly:
		p.begin(kindAnomaly)
		p.text(m.Kind)
		p.text(m.Detail)
		p.signed(int64(m.Count))
	case *exchange.Closed:
		p.begin(kindClosed)
		p.number(uint64(m.Phase))
		p.fault(&m.Fault)
		p.number(uint64(m.EraRefused))
		p.flag(m.RetryLegacy)
	default:
		p.note(fmt.Errorf("%T is no link message", m))
	}
}

func (p *packer) call(m *exchange.Call) {
	p.begin(kindCall)
	p.number(m.ID)
	p.text(m.Method)
	p.bytes(m.Params.Raw)
	p.bytes(m.Name)
	p.number(uint64(m.Client.Era))
	p.text(m.Client.Revision)
	p.bytes(m.Client.Info)
	p.bytes(m.Client.Capabilities)
	p.text(m.LogLevel)
	p.flag(m.Progress)
	p.flag(m.Headers != nil)
	p.note(p.enc.EncodeArrayLen(2 * len(m.Headers)))
	for _, h := range m.Headers {
		p.text(h.Name)
		p.text(h.Value)
	}
	deadline := int64(0)
	if !m.Deadline.IsZero() {
		deadline = m.Deadline.UnixNano()
	}
	p.signed(deadline)
	p.flag(m.Trace != nil)
	t := m.Trace
	if t == nil {
		t = &exchange.TraceContext{}
	}
	p.text(t.Parent)
	p.text(t.State)
	p.text(t.Baggage)
}

func (p *packer) response(m *exchange.Response) {
	p.begin(kindResponse)
	p.number(m.ID)
	p.bytes(m.Result)
	p.bytes(m.Error)
	p.text(m.ResultType)
	p.flag(m.IsError)
	p.number(uint64(m.Era))
	p.flag(m.Fault != nil)
	f := m.Fault
	if f == nil {
		f = &exchange.Fault{}
	}
	p.fault(f)
}

// fault packs seven fields.
func (p *packer) fault(f *exchange.Fault) {
	p.number(uint64(f.Kind))
	p.text(f.Message)
	p.flag(f.Delivered)
	p.flag(f.NoSession)
	p.flag(f.StaleHeaders)
	p.flag(f.Again)
	p.signed(int64(f.RetryAfter))
}

// unpacker reads the elements of one frame. After an error everything reads as
// zero. What it returns aliases the frame.
type unpacker struct {
	frame []byte
	r     *bytes.Reader
	dec   *msgpack.Decoder
	err   error
}

// decode reads a frame: a link message, an exchange.LinkSpec by pointer, or a closeLink.
func decode(frame []byte) (any, error) {
	r := bytes.NewReader(frame)
	u := &unpacker{frame: frame, r: r, dec: msgpack.NewDecoder(r)}
	n, err := u.dec.DecodeArrayLen()
	u.note(err)
	k := kind(u.small(255))
	if u.err == nil && n != 1+k.fields() {
		u.err = fmt.Errorf("a frame of kind %d has %d elements", k, n)
	}
	m := u.message(k)
	if u.err == nil && r.Len() > 0 {
		u.err = fmt.Errorf("%d bytes after the message", r.Len())
	}
	if u.err != nil {
		return nil, u.err
	}
	return m, nil
}

func (u *unpacker) note(err error) {
	if u.err == nil {
		u.err = err
	}
}

func (u *unpacker) number() uint64 {
	if u.err != nil {
		return 0
	}
	n, err := u.dec.DecodeUint64()
	u.note(err)
	return n
}

// small reads a number of at most limit.
func (u *unpacker) small(limit uint64) uint8 {
	n := u.number()
	if n > limit {
		u.note(fmt.Errorf("%d is out of range", n))
		return 0
	}
	return uint8(n)
}

func (u *unpacker) signed() int64 {
	if u.err != nil {
		return 0
	}
	n, err := u.dec.DecodeInt64()
	u.note(err)
	return n
}

func (u *unpacker) flag() bool {
	if u.err != nil {
		return false
	}
	b, err := u.dec.DecodeBool()
	u.note(err)
	return b
}

var errShort = errors.New("a field is longer than its frame")

// bytes does not leave the allocation to the library: a length is believed only
// as far as the frame goes.
func (u *unpacker) bytes() []byte {
	if u.err != nil {
		return nil
	}
	n, err := u.dec.DecodeBytesLen()
	if err != nil || n < 0 {
		u.note(err)
		return nil
	}
	at := len(u.frame) - u.r.Len()
	if n > u.r.Len() {
		u.note(errShort)
		return nil
	}
	_, err = u.r.Seek(int64(n), io.SeekCurrent)
	u.note(err)
	return u.frame[at : at+n : at+n]
}

func (u *unpacker) text() string { return string(u.bytes()) }

// length reads the length of an array or map of which each element takes a byte at least.
func (u *unpacker) length(read func() (int, error)) int {
	if u.err != nil {
		return 0
	}
	n, err := read()
	u.note(err)
	if n < 0 || n > u.r.Len() {
		u.note(errShort)
		return 0
	}
	return n
}

func (u *unpacker) message(k kind) any {
	switch k {
	case kindOpen:
		return u.spec()
	case kindClose:
		return closeLink{}
	case kindCall:
		return u.call()
	case kindCancel:
		return &exchange.Cancel{ID: u.number(), Reason: u.text()}
	case kindResponse:
		return u.response()
	case kindNotification:
		return &exchange.Notification{Related: u.number(), Method: u.text(), Params: u.bytes()}
	case kindServerRequest:
		return &exchange.ServerRequest{ID: u.number(), Related: u.number(), Method: u.text(), Params: u.bytes()}
	case kindOpened:
		return &exchange.Opened{Era: u.era(), Revision: u.text(), Info: u.bytes(), Capabilities: u.bytes(), Instructions: u.text(), LegacyToo: u.flag()}
	case kindAnomaly:
		return &exchange.Anomaly{Kind: u.text(), Detail: u.text(), Count: int(u.signed())}
	case kindClosed:
		return &exchange.Closed{
			Phase: exchange.Phase(u.small(uint64(exchange.PhaseStopped))), Fault: u.fault(),
			EraRefused: u.era(), RetryLegacy: u.flag(),
		}
	default:
		u.note(fmt.Errorf("unknown kind of frame %d", k))
		return nil
	}
}

func (u *unpacker) era() wire.Era { return wire.Era(u.small(uint64(wire.Modern))) }

func (u *unpacker) spec() *exchange.LinkSpec {
	s := &exchange.LinkSpec{
		Server: u.text(), Era: u.era(), Revision: u.text(), ClientInfo: u.bytes(), Capabilities: u.bytes(),
		ProbeTimeout: time.Duration(u.signed()), InitTimeout: time.Duration(u.signed()), MaxMessage: int(u.signed()),
		URL: u.text(),
	}
	if u.flag() {
		s.Headers = map[string]string{}
	}
	for range u.length(u.dec.DecodeMapLen) {
		name, value := u.text(), u.text()
		if u.err == nil && s.Headers != nil {
			s.Headers[name] = value
		}
	}
	return s
}

func (u *unpacker) call() *exchange.Call {
	m := &exchange.Call{ID: u.number()}
	m.Method, m.Params.Raw, m.Name = u.text(), u.bytes(), u.bytes()
	m.Client = exchange.Client{Era: u.era(), Revision: u.text(), Info: u.bytes(), Capabilities: u.bytes()}
	m.LogLevel, m.Progress = u.text(), u.flag()
	if u.flag() {
		m.Headers = []exchange.Header{}
	}
	n := u.length(u.dec.DecodeArrayLen)
	if n%2 != 0 || n > 0 && m.Headers == nil {
		u.note(errors.New("headers come in pairs"))
	}
	for range n / 2 {
		if h := (exchange.Header{Name: u.text(), Value: u.text()}); u.err == nil {
			m.Headers = append(m.Headers, h)
		}
	}
	if at := u.signed(); at != 0 {
		m.Deadline = time.Unix(0, at)
	}
	traced := u.flag()
	if t := (exchange.TraceContext{Parent: u.text(), State: u.text(), Baggage: u.text()}); traced {
		m.Trace = &t
	}
	return m
}

func (u *unpacker) response() *exchange.Response {
	m := &exchange.Response{ID: u.number()}
	m.Result, m.Error, m.ResultType, m.IsError, m.Era = u.bytes(), u.bytes(), u.text(), u.flag(), u.era()
	has := u.flag()
	if f := u.fault(); has {
		m.Fault = &f
	}
	return m
}

func (u *unpacker) fault() exchange.Fault {
	return exchange.Fault{
		Kind: u.small(255), Message: u.text(), Delivered: u.flag(), NoSession: u.flag(), StaleHeaders: u.flag(),
		Again: u.flag(), RetryAfter: time.Duration(u.signed()),
	}
}
