package launch

import (
	"encoding/binary"
	"errors"
	"io"
	"strconv"
	"strings"
)

// Frames travel on the socket pair between the gateway and an init: one byte of
// kind, four bytes of length, then strings joined by NUL (none of them can hold
// one, see checkSpec). The socket is also the lifeline: its end means that the
// other side is gone.
type frameKind byte

const (
	frameStart     frameKind = 'S' // gateway: mode, path, dir, number of arguments, arguments, environment
	frameTerminate frameKind = 'T' // gateway: SIGTERM to every process of the tree
	frameKill      frameKind = 'K' // gateway: SIGKILL to every process of the tree
	frameRunning   frameKind = 'R' // init: the program runs, or the probe passed
	frameFailed    frameKind = 'F' // init: what was tried, errno
	frameExited    frameKind = 'X' // init: how the program ended
)

// maxFrame is above what execve takes (a quarter of the stack limit, 6 MiB at most by default).
const maxFrame = 8 << 20

// maxReport bounds what an init may say.
const maxReport = 64 << 10

var errFrame = errors.New("malformed frame")

func writeFrame(w io.Writer, kind frameKind, fields ...string) error {
	payload := strings.Join(fields, "\x00")
	if len(payload) > maxFrame {
		return errFrame
	}
	frame := make([]byte, 0, 5+len(payload))
	frame = append(frame, byte(kind))
	frame = binary.BigEndian.AppendUint32(frame, uint32(len(payload)))
	_, err := w.Write(append(frame, payload...))
	return err
}

// readFrame returns at least one field; a payload above limit is refused.
func readFrame(r io.Reader, limit uint32) (frameKind, []string, error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	size := binary.BigEndian.Uint32(head[1:])
	if size > limit {
		return 0, nil, errFrame
	}
	payload := make([]byte, size)
	if _, err := io.ReadFull(r, payload); err != nil {
		return 0, nil, err
	}
	return frameKind(head[0]), strings.Split(string(payload), "\x00"), nil
}

// mode is what an init is to do.
type mode string

const (
	modeProbe     mode = "probe"     // set up a PID namespace, say whether it worked, end
	modeNamespace mode = "namespace" // the init is PID 1 of a namespace
	modeSubreaper mode = "subreaper" // the init adopts orphans
)

// order is the content of a frameStart.
type order struct {
	mode      mode
	path, dir string
	argv, env []string
}

func (o order) fields() []string {
	out := []string{string(o.mode), o.path, o.dir, strconv.Itoa(len(o.argv))}
	return append(append(out, o.argv...), o.env...)
}

func parseOrder(fields []string) (order, error) {
	if len(fields) < 4 {
		return order{}, errFrame
	}
	n, err := strconv.Atoi(fields[3])
	if err != nil || n < 0 || n > len(fields)-4 {
		return order{}, errFrame
	}
	rest := fields[4:]
	return order{mode: mode(fields[0]), path: fields[1], dir: fields[2], argv: rest[:n], env: rest[n:]}, nil
}
