package stdiobridge

import (
	"bytes"
	"math"
	"strconv"

	"durward/internal/wire"
)

// asksMost bounds the questions that the client has not answered: the highest value
// that limits.asks can have. The oldest is forgotten; nobody waits for it any more.
const asksMost = 10_000

// asks are the requests of the service to a legacy client. The service begins to
// count anew on each connection, so each question gets an id that no other one of
// this client ever had: an answer that comes late is that to no other question.
// Bridge.mu guards it.
type asks struct {
	open map[string]ask // by the id that the client knows
	last uint64
}

type ask struct {
	number uint64
	id     []byte // what the service calls it
}

// add renames a question of the service, whose line it returns for the client.
func (a *asks) add(line, id []byte) []byte {
	if len(a.open) >= asksMost {
		a.forgetOldest()
	}
	a.last++
	name := strconv.FormatUint(a.last, 10)
	a.open[name] = ask{a.last, bytes.Clone(id)}
	return rename(line, wire.Lookup(line, "id"), []byte(name))
}

// answer gives the client's answer the id that the service knows. False: nobody
// waits for it on this connection.
func (a *asks) answer(line, id []byte) ([]byte, bool) {
	asked, ok := a.open[string(id)]
	if !ok {
		return nil, false
	}
	delete(a.open, string(id))
	return rename(line, wire.Lookup(line, "id"), asked.id), true
}

// withdraw renames the question that the service does not need answered any more.
func (a *asks) withdraw(line, id []byte) []byte {
	for name, asked := range a.open {
		if bytes.Equal(asked.id, id) {
			delete(a.open, name)
			at := wire.Lookup(line, "params")
			in := wire.Lookup(at.Of(line), "requestId")
			return rename(line, wire.Span{Start: at.Start + in.Start, End: at.Start + in.End}, []byte(name))
		}
	}
	return line
}

// cancel forgets all, and returns what tells the client so.
func (a *asks) cancel() [][]byte {
	var notes [][]byte
	for name := range a.open {
		delete(a.open, name)
		notes = append(notes, wire.AppendRequest(nil, nil, wire.NoteCancelled,
			[]byte(`{"requestId":`+name+`,"reason":"the service ended, and nobody waits for the answer any more"}`)))
	}
	return notes
}

func (a *asks) forgetOldest() {
	oldest := uint64(math.MaxUint64)
	for _, asked := range a.open {
		oldest = min(oldest, asked.number)
	}
	delete(a.open, strconv.FormatUint(oldest, 10))
}

// rename replaces an id in a line.
func rename(line []byte, at wire.Span, id []byte) []byte {
	if !at.Present() || bytes.Equal(at.Of(line), id) {
		return line
	}
	return wire.Splice(nil, line, wire.Edit{At: at, With: id})
}
