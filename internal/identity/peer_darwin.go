package identity

import (
	"net"

	"golang.org/x/sys/unix"
)

// credentials asks the kernel who connected (LOCAL_PEERCRED, LOCAL_PEERPID).
func credentials(conn *net.UnixConn) (peer, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return peer{}, err
	}
	var who peer
	var failed error
	if err := raw.Control(func(fd uintptr) {
		cred, err := unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
		if err != nil {
			failed = err
			return
		}
		who.uid = int(cred.Uid)
		who.pid, _ = unix.GetsockoptInt(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERPID)
	}); err != nil {
		return peer{}, err
	}
	return who, failed
}
