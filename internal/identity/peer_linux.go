package identity

import (
	"net"

	"golang.org/x/sys/unix"
)

// credentials asks the kernel who connected (SO_PEERCRED, unix(7)).
func credentials(conn *net.UnixConn) (peer, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return peer{}, err
	}
	var cred *unix.Ucred
	var failed error
	if err := raw.Control(func(fd uintptr) {
		cred, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return peer{}, err
	}
	if failed != nil {
		return peer{}, failed
	}
	return peer{uid: int(cred.Uid), pid: int(cred.Pid)}, nil
}
