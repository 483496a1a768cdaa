package sqlite_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"durward"
	"durward/internal/store/sqlite"
	"durward/internal/testkit/smalldisk"
	"durward/internal/testkit/unprivileged"
)

func moreFaults() []fault {
	return []fault{
		{name: "disk full", begin: diskFull, elsewhere: smallDisk, says: []string{"disk is full", "free some space"}},
		{name: "disk full of somebody else", begin: diskFilled, elsewhere: smallDisk, says: []string{"disk is full", "free some space"}},
	}
}

// diskSize is that of the small disk; diskSpare is what is kept free at first.
const (
	diskSize  = 24 << 20
	diskSpare = 16 << 20
)

// smallDisk mounts a small disk, with a file on it that can be removed for room.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	must(t, unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	smalldisk.Mount(t, dir, diskSize)
	return dir
}

// diskFull leaves little room, so that the ledger itself fills the disk.
func diskFull(t *testing.T, path string) func() {
	t.Helper()
	ballast := filepath.Join(filepath.Dir(path), "ballast")
	var fs unix.Statfs_t
	must(t, unix.Statfs(filepath.Dir(path), &fs))
	f, err := os.Create(ballast)
	must(t, err)
	for room := int64(fs.Bavail)*fs.Bsize - 256<<10; room > 0; room -= pageSize {
		if _, err := f.Write(make([]byte, pageSize)); err != nil { // the ledger was faster
			break
		}
	}
	must(t, f.Close())
	return func() { must(t, os.Remove(ballast)) }
}

// diskFilled leaves no room at all.
func diskFilled(t *testing.T, path string) func() {
	t.Helper()
	return smalldisk.Fill(t, filepath.Join(filepath.Dir(path), "ballast"))
}

// apart reports whether this process may mount what it likes without anybody seeing
// it. If not, it runs the test in one that may, and takes over its verdict.
func apart(t *testing.T) bool {
	t.Helper()
	const mark = "DURWARD_TEST_APART"
	if os.Getenv(mark) == t.Name() {
		return true
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+strings.ReplaceAll(strings.ReplaceAll(t.Name(), "/", "$/^"), " ", "_")+"$", "-test.v")
	cmd.Env = append(os.Environ(), mark+"="+t.Name())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("this test needs a disk of its own, in a mount namespace, and failed in it or could have none: %v\n%s", err, out)
	}
	if !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Fatalf("the test did not run apart:\n%s", out)
	}
	return false
}

// A ledger in a place where nothing may be written is refused, and is taken when it
// may be again. One that is open goes on.
func TestReadOnly(t *testing.T) {
	for name, modes := range map[string]struct{ dir, file os.FileMode }{
		"directory": {0o500, 0o600}, "file": {0o700, 0o400}, "both": {0o500, 0o400},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "d")
			path := filepath.Join(dir, "ledger.db")
			h := newHand(t, path)
			h.fill(10)
			set := func(dirMode, fileMode os.FileMode) {
				must(t, os.Chmod(path, fileMode))
				must(t, os.Chmod(dir, dirMode))
			}
			unprivileged.Run(t, func() {
				set(modes.dir, modes.file)
				h.fill(10) // what is open stays open
				set(0o700, 0o600)
				must(t, h.db.Close())
				set(modes.dir, modes.file)
				_, err := sqlite.Open(t.Context(), faultOptions(path))
				if durward.KindOf(err) != durward.Unavailable || !strings.Contains(err.Error(), path) {
					t.Errorf("opened: %v", err)
				}
				set(0o700, 0o600)
				h.check()
				h.fill(10)

				// The log is removed, so that the file has to be opened anew.
				must(t, os.Remove(path+"-wal"))
				set(modes.dir, modes.file)
				f := &fault{}
				h.refused(f, path)
				set(0o700, 0o600)
				h.fill(10)
			})
			h.check()
		})
	}
}

// A file system that may only be read.
func TestReadOnlyDisk(t *testing.T) {
	for name, open := range map[string]openWith{"alone": alone, "with a journal": withJournal} {
		t.Run(name, func(t *testing.T) {
			if apart(t) {
				readOnlyDisk(t, open)
			}
		})
	}
}

func readOnlyDisk(t *testing.T, open openWith) {
	dir := smallDisk(t)
	path := filepath.Join(dir, "ledger.db")
	h := newHandWith(t, path, open)
	h.fill(10)
	must(t, h.to.Close())
	smalldisk.SetReadOnly(t, dir, true)
	if _, _, err := open(t.Context(), path); durward.KindOf(err) != durward.Unavailable || !strings.Contains(err.Error(), path) {
		t.Errorf("opened: %v", err)
	}
	smalldisk.SetReadOnly(t, dir, false)
	h.check()
	h.fill(10)
}

// A reader that could not open a ledger looks whether its place can be written. The locks
// of those who have it open in the same process stay: without them another process takes
// itself for the first, and cuts off the index of the log under them.
func TestLookingKeepsLocks(t *testing.T) {
	h := newHand(t, filepath.Join(t.TempDir(), "ledger.db"))
	h.fill(10)
	must(t, h.db.Prune(t.Context(), 0, func(int64, int64) {})) // it cuts off the log
	if sqlite.Unwritable(h.db.Path()) {
		t.Error("it can be written")
	}
	f, err := os.Open(h.db.Path() + "-shm")
	must(t, err)
	defer f.Close()
	const alive = 128 // the byte that whoever has the index in use has locked
	lock := unix.Flock_t{Type: unix.F_WRLCK, Start: alive, Len: 1}
	must(t, unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &lock))
	if lock.Type != unix.F_RDLCK {
		t.Errorf("the lock is gone: %+v", lock)
	}
}
