package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Toolbox knows the places that the outer tests need. It is read-only after
// [Open] and safe for concurrent use.
type Toolbox struct {
	// Root is the top of the repository, Peers the folder of the npm peers,
	// Bin the ignored folder for binaries that the tests build.
	Root, Peers, Bin string
	// Node is the absolute path of a Node 22 or newer.
	Node string
}

// Open finds the repository around the working directory and the pinned Node in
// it. It fails with the command to run when the peers are not installed.
func Open() (*Toolbox, error) {
	root, err := findRoot()
	if err != nil {
		return nil, err
	}
	t := &Toolbox{Root: root, Peers: filepath.Join(root, "test", "peers"), Bin: filepath.Join(root, "bin")}
	if t.Node, err = findNode(t.Peers); err != nil {
		return nil, err
	}
	return t, nil
}

// findRoot walks up to the go.mod of this module, so that the programs work from
// any folder of the repository.
func findRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(mod), "module durward\n") {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no go.mod of module durward above the working directory: run this inside the repository")
		}
		dir = parent
	}
}

// findNode prefers the platform package pinned in the lock file. The system's
// own Node is taken only on platforms without such a package.
func findNode(peers string) (string, error) {
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	pinned := filepath.Join(peers, "node_modules", "node-"+runtime.GOOS+"-"+arch, "bin", "node")
	if _, err := os.Stat(pinned); err == nil {
		return pinned, nil
	}
	if runtime.GOOS == "linux" {
		return "", fmt.Errorf("the npm peers are not installed (%s is missing): run make deps", pinned)
	}
	return exec.LookPath("node")
}

// RunDir makes a fresh folder for the logs, sockets and results of one run. It is
// not in the checkout: several runs may go on at once, and the path of a unix
// socket must be short. The returned function removes it.
func RunDir(name string) (string, func() error, error) {
	dir, err := os.MkdirTemp("", "durward-"+name+"-")
	if err != nil {
		return "", nil, err
	}
	return dir, func() error { return os.RemoveAll(dir) }, nil
}

// Peer is the absolute path of a file below test/peers/node_modules.
func (t *Toolbox) Peer(elem ...string) string {
	return filepath.Join(append([]string{t.Peers, "node_modules"}, elem...)...)
}

// Fixture is the path of a fixture binary once [Toolbox.BuildFixtures] has run.
func (t *Toolbox) Fixture(name string) string {
	return filepath.Join(t.Bin, "fixtures", name)
}

// BuildFixtures builds the named Go fixtures: everything-server and
// everything-client (the go-sdk's programs for the conformance suites), gosdk and
// mcpgo, and oneera. They live in a module of their own so that the product's
// go.mod names no server SDK for their sake.
func (t *Toolbox) BuildFixtures(ctx context.Context, names ...string) error {
	for _, name := range names {
		pkg := "./" + name
		if strings.HasPrefix(name, "everything-") {
			pkg = "github.com/modelcontextprotocol/go-sdk/conformance/" + name
		}
		if err := t.goBuild(ctx, filepath.Join(t.Root, "test", "fixtures"), t.Fixture(name), pkg); err != nil {
			return err
		}
	}
	return nil
}

// BuildGateway builds the product and returns the path of its binary.
func (t *Toolbox) BuildGateway(ctx context.Context) (string, error) {
	bin := filepath.Join(t.Bin, "durward")
	return bin, t.goBuild(ctx, t.Root, bin, "./cmd/durward")
}

func (t *Toolbox) goBuild(ctx context.Context, dir, out, pkg string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-o", out, pkg)
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w\n%s", pkg, err, text)
	}
	return nil
}
