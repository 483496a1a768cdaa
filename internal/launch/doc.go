// Package launch starts stdio MCP servers so that the whole tree of a server's
// processes ends with the gateway: on stop, on a crash and on SIGKILL.
//
// It is not an isolation profile: a server started here has the rights of the
// service. It decides how a tree is held together and nothing else.
//
// There are three ways to hold a tree, the best that works is taken, and
// [Process.Confined] names it:
//
//   - "pid-namespace" (Linux with CAP_SYS_ADMIN): the server runs under a tiny
//     init, which is this program executed once more, in a PID namespace with
//     its own /proc. When the init dies the kernel kills every process in it.
//   - "subreaper" (Linux otherwise): the same init without namespaces. Every
//     descendant whose parent died becomes its child, even one with a session
//     of its own, and it kills all of them when the gateway is gone. A user
//     namespace would permit the first way here too and is not used: it breaks
//     setuid programs (sudo, newuidmap of rootless containers) and the checks
//     ssh makes on the owner of its configuration.
//   - "process-group" (other Unix systems, or a program that does not call
//     [MaybeInit]): the server leads a process group, which is killed. A
//     descendant that left the group survives.
//   - "process" (Windows): only the server itself is killed.
//
// An init is needed even in a PID namespace. A server that is PID 1 itself
// ignores every signal it has no handler for, must reap orphans (few servers
// do), and sees a /proc in which its own process id belongs to somebody else.
//
// Start with [New] and [Launcher.Launch]; a program's main calls [MaybeInit] first.
package launch
