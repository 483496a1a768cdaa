package plugin

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"durward"
)

// Bounds of plugins in WebAssembly.
const (
	maxModule   = 64 << 20 // bytes of the file
	memoryPages = 2048     // of 64 KiB each: 128 MiB for one run
	maxInput    = 16 << 20 // bytes handed to a run
	maxOutput   = 16 << 20 // bytes taken from it
	startTime   = 5 * time.Second
	checkTime   = time.Minute // a start, and the question for its version
	parallel    = 8           // runs of one plugin at the same time; others wait
)

// abiVersion is that of the functions and texts in the reference of the plugins.
const abiVersion = 1

// The functions a module must have.
const (
	exportABI   = "durward_abi"
	exportAlloc = "durward_alloc"
	exportRun   = "durward_run"
)

// host runs WebAssembly. Modules have WASI and nothing behind it: no files, no
// network, no environment, no arguments, a clock that says what it is told.
type host struct{ runtime wazero.Runtime }

// Cache keeps compiled modules, so that a set that replaces another one is made
// at once. It is used by many goroutines.
type Cache struct{ modules wazero.CompilationCache }

// NewCache makes an empty one.
func NewCache() *Cache { return &Cache{modules: wazero.NewCompilationCache()} }

// Close frees all modules. No set that was made with it may be used any more.
func (c *Cache) Close() error { return c.modules.Close(context.Background()) }

func newHost(ctx context.Context, cache *Cache) (*host, error) {
	config := wazero.NewRuntimeConfig().WithMemoryLimitPages(memoryPages).WithCloseOnContextDone(true).WithCoreFeatures(api.CoreFeaturesV2)
	if cache != nil {
		config = config.WithCompilationCache(cache.modules)
	}
	h := &host{runtime: wazero.NewRuntimeWithConfig(ctx, config)}
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, h.runtime); err != nil {
		_ = h.close()
		return nil, durward.Errorf(durward.Internal, "plugin", "WASI: %w", err)
	}
	return h, nil
}

func (h *host) close() error { return h.runtime.Close(context.Background()) }

// module is a plugin in WebAssembly. Each run has an instance of its own, so that
// nothing of one call can reach another.
type module struct {
	host    *host
	code    wazero.CompiledModule
	timeout time.Duration
	starts  time.Duration // bounds the start of an instance
	turns   chan struct{} // has one value per run
}

// load reads, compiles and tries the module of a plugin.
func (s *Set) load(o *one, c Config, opt *Options) error {
	op := "policy.plugins." + o.name + ".wasm"
	code, err := readModule(c.WASM)
	if err != nil {
		return durward.Errorf(durward.Invalid, op, "%s: %w", c.WASM, err)
	}
	if sum := fmt.Sprintf("%x", sha256.Sum256(code)); c.SHA256 != "" && sum != c.SHA256 {
		return durward.Errorf(durward.Conflict, op, "%s has the SHA-256 digest %s, not %s: it was changed meanwhile; reload once more", c.WASM, sum, c.SHA256)
	}
	ctx := context.Background() // nothing interrupts a compiler, however long it takes on a busy machine
	if s.host == nil {
		if s.host, err = newHost(ctx, opt.Cache); err != nil {
			return err
		}
	}
	m := &module{host: s.host, timeout: c.Timeout, starts: opt.Start, turns: make(chan struct{}, parallel)}
	if m.timeout == 0 {
		m.timeout = defaultTimeout
	}
	if m.code, err = s.host.runtime.CompileModule(ctx, code); err != nil {
		return durward.Errorf(durward.Invalid, op, "%s is no WebAssembly module that can be run: %w", c.WASM, err)
	}
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	if err := m.check(ctx); err != nil {
		return durward.Errorf(durward.Invalid, op, "%s: %w", c.WASM, err)
	}
	o.wasm = m
	return nil
}

func readModule(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	code, err := io.ReadAll(io.LimitReader(f, maxModule+1))
	if err == nil && len(code) > maxModule {
		err = durward.Errorf(durward.Invalid, "", "it is larger than %d bytes", maxModule)
	}
	return code, err
}

// check looks at what the module wants and has, starts it once, and asks for its
// version of the interface.
func (m *module) check(ctx context.Context) error {
	for _, f := range m.code.ImportedFunctions() {
		if from, name, _ := f.Import(); from != wasi_snapshot_preview1.ModuleName {
			return durward.Errorf(durward.Invalid, "", "it wants %s.%s; plugins are given WASI (%s) only", from, name, wasi_snapshot_preview1.ModuleName)
		}
	}
	exports := m.code.ExportedFunctions()
	for _, name := range [...]string{exportABI, exportAlloc, exportRun} {
		if exports[name] == nil {
			return durward.Errorf(durward.Invalid, "", "it has no function %s; it has %v. See docs/reference/plugins.md", name, slices.Sorted(maps.Keys(exports)))
		}
	}
	if m.code.ExportedMemories()["memory"] == nil {
		return durward.Errorf(durward.Invalid, "", "it does not export its memory")
	}
	instance, err := m.start(ctx)
	if err != nil {
		return err
	}
	defer instance.Close(ctx) //nolint:errcheck // it has nothing that could be lost
	out, err := instance.ExportedFunction(exportABI).Call(ctx)
	if err != nil || len(out) != 1 {
		return durward.Errorf(durward.Invalid, "", "%s failed: %v", exportABI, err)
	}
	if out[0] != abiVersion {
		return durward.Errorf(durward.Invalid, "", "it is made for version %d of the interface; this is version %d", out[0], abiVersion)
	}
	return nil
}

// start makes an instance.
func (m *module) start(ctx context.Context) (api.Module, error) {
	ctx, cancel := context.WithTimeout(ctx, m.starts)
	defer cancel()
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize").WithRandSource(rand.Reader).
		WithWalltime(func() (int64, int32) { return fixedTime, 0 }, 1)
	instance, err := m.host.runtime.InstantiateModule(ctx, m.code, config)
	if err != nil {
		return nil, durward.Errorf(durward.Unavailable, "", "it cannot be started: %w", err)
	}
	return instance, nil
}

// fixedTime is what the clock of plugins says: the first second of 2026.
const fixedTime = 1767225600

// call hands input to a new instance and returns a copy of its answer.
func (m *module) call(ctx context.Context, input []byte) ([]byte, error) {
	if len(input) > maxInput {
		return nil, durward.Errorf(durward.Invalid, "", "the content has %d bytes; plugins are handed at most %d", len(input), maxInput)
	}
	select {
	case m.turns <- struct{}{}:
		defer func() { <-m.turns }()
	case <-ctx.Done():
		return nil, durward.Errorf(durward.Timeout, "", "the call ended while it waited for a turn: %w", ctx.Err())
	}
	instance, err := m.start(ctx)
	if err != nil {
		return nil, err
	}
	defer instance.Close(context.Background()) //nolint:errcheck // as above
	run, cancel := context.WithTimeout(ctx, m.timeout)
	defer cancel()
	out, err := m.exchange(run, instance, input)
	if err != nil && run.Err() != nil && ctx.Err() == nil {
		return nil, durward.Errorf(durward.Timeout, "", "it took longer than %s (its timeout)", m.timeout)
	}
	return out, err
}

func (m *module) exchange(ctx context.Context, instance api.Module, input []byte) ([]byte, error) {
	at, err := instance.ExportedFunction(exportAlloc).Call(ctx, uint64(len(input)))
	if err != nil || len(at) != 1 {
		return nil, durward.Errorf(durward.Unavailable, "", "%s failed: %w", exportAlloc, firstLine(err))
	}
	memory := instance.Memory()
	if !memory.Write(uint32(at[0]), input) {
		return nil, durward.Errorf(durward.Unavailable, "", "%s gave a place outside of the memory", exportAlloc)
	}
	out, err := instance.ExportedFunction(exportRun).Call(ctx, at[0], uint64(len(input)))
	if err != nil || len(out) != 1 {
		return nil, durward.Errorf(durward.Unavailable, "", "%s failed: %w", exportRun, firstLine(err))
	}
	offset, size := uint32(out[0]>>32), uint32(out[0])
	if size > maxOutput {
		return nil, durward.Errorf(durward.Invalid, "", "its answer has %d bytes; at most %d are taken", size, maxOutput)
	}
	answer, ok := memory.Read(offset, size)
	if !ok {
		return nil, durward.Errorf(durward.Invalid, "", "its answer lies outside of its memory")
	}
	return slices.Clone(answer), nil
}
