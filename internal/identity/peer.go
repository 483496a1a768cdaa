package identity

import (
	"context"
	"net"
	"net/http"
	"os"
	"strconv"

	"durward"
)

// peer is who is at the other end of a unix socket, as the kernel says.
type peer struct {
	uid, pid int
	err      error
}

type peerKey struct{}

// ConnContext notes the peer credentials of a unix socket connection, for
// [Gate.Admit]. Set it as http.Server.ConnContext.
func ConnContext(ctx context.Context, conn net.Conn) context.Context {
	unix, ok := conn.(*net.UnixConn)
	if !ok {
		return ctx
	}
	who, err := credentials(unix)
	if err != nil {
		who = peer{uid: -1, err: err}
	}
	return context.WithValue(ctx, peerKey{}, who)
}

// admitPeer lets in the user the service runs as, and nobody else, root included:
// root needs no socket to get what it wants.
func admitPeer(r *http.Request, who peer) (durward.Caller, error) {
	if err := judgeSocketSource(r); err != nil {
		return durward.Caller{}, err
	}
	if who.err != nil {
		return durward.Caller{}, durward.Errorf(durward.Denied, "identity", "cannot tell who is at the other end of the socket: %w", who.err)
	}
	if who.uid != os.Geteuid() {
		return durward.Caller{}, durward.Errorf(durward.Denied, "identity", "user %d may not use the socket of user %d", who.uid, os.Geteuid())
	}
	caller := durward.Caller{Principal: PrincipalLocal, Entrance: durward.EntranceHTTP}
	if who.pid > 0 {
		caller.Process = "pid " + strconv.Itoa(who.pid)
	}
	return caller, nil
}

// judgeSocketSource: no browser reaches a unix socket, so Host means nothing
// there, and an Origin has no business in it.
func judgeSocketSource(r *http.Request) error {
	if origins := r.Header["Origin"]; len(origins) > 0 {
		return durward.Errorf(durward.Denied, "identity", "a request with an Origin is refused on the unix socket")
	}
	return nil
}
