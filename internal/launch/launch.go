package launch

import (
	"context"
	"os"
	"runtime"
	"sync"
	"time"

	"durward"
)

// Spec says what to start. Everything is passed exactly; there is no shell.
type Spec struct {
	Server  string            // the server's name, for messages and process lists
	Command string            // a path, or a name that is looked up in the server's PATH
	Args    []string          // without the command itself
	Env     map[string]string // besides PATH, HOME, LANG, TMPDIR and USER of the service; an entry here wins
	Dir     string            // working directory; default: the service's
}

// Options configure a [Launcher]. The zero value is ready for use.
type Options struct {
	Grace   time.Duration // how long Stop waits after closing stdin, and again after SIGTERM; default 2 s
	Stderr  int           // bytes kept of the end of a server's stderr (limits.stderr); default 256 KiB
	Environ []string      // the service's environment; default os.Environ()
	NoInit  bool          // hold trees by process group only, as on systems without an init
}

// DefaultGrace is how long a server has to end after its stdin was closed, and
// again after SIGTERM.
const DefaultGrace = 2 * time.Second

// Launcher starts processes. All forks are made by one goroutine that is locked
// to its thread, because Linux sends the parent-death signal when the thread
// that forked ends, not the process. Safe for concurrent use.
type Launcher struct {
	opts   Options
	holder holder
	why    string
	jobs   chan func()
	done   chan struct{} // closed when the forking goroutine has ended

	closing context.Context // ends launches under way when Close is called
	shut    context.CancelFunc

	mu      sync.Mutex // guards the fields below
	closed  bool
	running map[*Process]struct{}
	starts  sync.WaitGroup // launches under way; Add only while !closed
}

// New probes how trees can be held here, by really starting the init once, and
// returns a launcher. The caller owns it and calls Close.
func New(opts Options) *Launcher {
	if opts.Grace <= 0 {
		opts.Grace = DefaultGrace
	}
	if opts.Stderr <= 0 {
		opts.Stderr = DefaultStderr
	}
	if opts.Environ == nil {
		opts.Environ = os.Environ()
	}
	l := &Launcher{
		opts:    opts,
		jobs:    make(chan func()),
		done:    make(chan struct{}),
		running: make(map[*Process]struct{}),
	}
	l.closing, l.shut = context.WithCancel(context.Background())
	go l.forkLoop()
	l.holder, l.why = pickHolder(opts, l.fork)
	return l
}

// Confined says how the trees of this launcher's processes are held:
// "pid-namespace", "subreaper", "process-group" or "process".
func (l *Launcher) Confined() string { return l.holder.name() }

// Reason says why nothing better than Confined is used; empty for the best.
func (l *Launcher) Reason() string { return l.why }

// Launch starts a server and returns once its program runs. ctx bounds the
// start only. Errors are durward.Unavailable with what to do about it,
// durward.Invalid for a Spec that no system can run, durward.Timeout when ctx ended.
func (l *Launcher) Launch(ctx context.Context, s Spec) (*Process, error) {
	if err := l.enter(s); err != nil {
		return nil, err
	}
	defer l.starts.Done()
	plan, err := newPlan(s, l.opts.Environ)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.closing, cancel)()
	return startProcess(ctx, l, plan)
}

func (l *Launcher) add(p *Process) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running[p] = struct{}{}
}

func (l *Launcher) remove(p *Process) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.running, p)
}

func (l *Launcher) enter(s Spec) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return durward.Errorf(durward.Unavailable, op(s), "the launcher is closed: the gateway is stopping")
	}
	l.starts.Add(1)
	return nil
}

// Close stops every process in order (see [Process.Stop]), all at the same
// time, waits for them and ends the forking goroutine. It is idempotent.
func (l *Launcher) Close() error {
	l.mu.Lock()
	first := !l.closed
	l.closed = true
	l.mu.Unlock()
	if !first {
		<-l.done
		return nil
	}
	l.shut()
	l.starts.Wait()
	l.stopAll()
	close(l.jobs)
	<-l.done
	return nil
}

func (l *Launcher) stopAll() {
	l.mu.Lock()
	all := make([]*Process, 0, len(l.running))
	for p := range l.running {
		all = append(all, p)
	}
	l.mu.Unlock()
	var wg sync.WaitGroup
	for _, p := range all {
		wg.Go(func() {
			_ = p.Stop(context.Background()) // without a deadline Stop cannot fail
		})
	}
	wg.Wait()
}

func (l *Launcher) forkLoop() {
	runtime.LockOSThread() // never unlocked: the thread ends with the loop, after all its children
	defer close(l.done)
	for job := range l.jobs {
		job()
	}
}

// fork runs f on the forking thread and waits for it.
func (l *Launcher) fork(f func()) {
	done := make(chan struct{})
	l.jobs <- func() {
		defer close(done)
		f()
	}
	<-done
}

func op(s Spec) string { return "launch " + s.Server }
