# Everything a developer or CI runs. What make needs besides Go, Node with npm,
# and a C compiler for the race detector is installed by "make deps" into the
# checkout.

SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-builtin-rules
.DEFAULT_GOAL := help

# The toolchain that builds and tests, fetched as a module by Go itself: the
# newest patch release, because govulncheck knows holes in the standard library
# of older ones. go.mod names the oldest that can build. "make
# GOTOOLCHAIN=local …" takes the one that is installed.
export GOTOOLCHAIN := go1.26.11

GO       ?= go
FUZZTIME ?= 20s
PKG      ?= ./...
RUN      ?= .
ARGS     ?=
PGO      ?= auto

# What the race detector is not told of, because that takes ten to twenty times as
# long and can find nothing: SQLite, C that was turned into Go and works on memory
# outside Go's heap, where the detector does not look; arithmetic of signatures, the
# compiler of WebAssembly and comparisons of what tests want and got, which work on
# values of one goroutine. All that calls them is watched.
WAZEVO    = github.com/tetratelabs/wazero/internal/engine/wazevo
UNWATCHED = modernc.org/sqlite/lib modernc.org/libc modernc.org/memory crypto/internal/fips140/edwards25519/... \
  $(WAZEVO)/backend/... $(WAZEVO)/frontend $(WAZEVO)/ssa $(WAZEVO)/wazevoapi github.com/google/go-cmp/...
RACE      = -race $(UNWATCHED:%=-gcflags=%=-race=false)

# How long the tests of a package may take: the longest take minutes, and several times
# as long on a machine that is busy with something else.
PATIENCE = 30m

# Tests that try only a part of their cases with the race detector; without it all.
WHOLE     = ./internal/store/sqlite ./test/ledger
WHOLE_RUN = TheFilterChooses|WhileRowsAreWritten|Tamper|FlippedBits

GO_SOURCES = git ls-files -co --exclude-standard '*.go'

.PHONY: help run build deps fixtures test focus-test conformance interop chaos kill-test bench pgo fuzz lint fmt docs cross clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "%-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: build ## build and start the gateway with its embedded demonstration configuration
	bin/durward serve --demo

build: ## build bin/durward
	$(GO) build -trimpath -o bin/durward ./cmd/durward

deps: bin/.peers fixtures ## install what tests need: Go modules, npm peers, fixtures
	$(GO) mod download

bin/.peers: test/peers/package.json test/peers/package-lock.json test/peers/.npmrc
	npm ci --prefix test/peers
	mkdir -p bin && touch $@

fixtures: ## build the servers and clients of other libraries that tests talk to
	mkdir -p bin/fixtures
	for name in server client; do $(GO) build -C test/fixtures -o ../../bin/fixtures/everything-$$name github.com/modelcontextprotocol/go-sdk/conformance/everything-$$name; done
	$(GO) build -C test/fixtures -o ../../bin/fixtures/ ./gosdk ./mcpgo ./oneera

test: deps ## all tests with the race detector, and what it makes too slow once more without
	$(GO) test $(RACE) -timeout $(PATIENCE) ./...
	$(GO) test -timeout $(PATIENCE) -run '$(WHOLE_RUN)' $(WHOLE)
	$(GO) test -C test/fixtures -race ./...

focus-test: ## a part: make focus-test PKG=./internal/wire RUN=TestScan
	$(GO) test $(RACE) -count=1 -v -run '$(RUN)' $(PKG)

conformance: deps ## the official suites, directly and through the gateway
	$(GO) run ./test/conformance $(ARGS)

interop: deps ## real clients against real servers through one gateway
	$(GO) run ./test/interop $(ARGS)

chaos: ## faults at every point of calls, connections and processes, and what came of each call
	$(GO) run ./test/chaos $(ARGS)

kill-test: ## SIGKILL at random moments under load, at least 200 times, and what the ledger says of it
	$(GO) run ./test/kill $(ARGS)

bench: ## throughput, latency and memory against direct calls
	$(GO) run ./bench $(ARGS)

# The compiler reads this profile when it builds the service: where calls spend
# their time is inlined first, worth 5 to 10 % of the processor time of a call.
pgo: ## take the profile that the service is built with anew
	$(GO) run ./bench -gate=false -profile -only '^bare-(1|16|64)-16$$|^bare-16-65536$$'
	$(GO) tool pprof -proto bench/out/bare-*.pprof > cmd/durward/default.pgo

# go test takes one fuzz target of one package at a time.
fuzz: ## every fuzz target for FUZZTIME
	@$(GO) list -f '{{range .TestGoFiles}}{{$$.ImportPath}} {{$$.Dir}}/{{.}}{{"\n"}}{{end}}{{range .XTestGoFiles}}{{$$.ImportPath}} {{$$.Dir}}/{{.}}{{"\n"}}{{end}}' ./... \
	| while read -r pkg file; do [ -z "$$pkg" ] || sed -nE "s|^func (Fuzz[A-Za-z0-9_]*)\(.*|$$pkg \1|p" "$$file"; done \
	| while read -r pkg target; do \
		echo "fuzz $$pkg $$target"; \
		$(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) "$$pkg" < /dev/null; \
	done

# Tools are built once per version of tools/go.mod; their dependencies stay out
# of the product's module.
TOOLS = bin/tools/golangci-lint bin/tools/gofumpt bin/tools/govulncheck bin/tools/indexdb bin/tools/benchstat

$(TOOLS) &: tools/go.mod tools/go.sum
	mkdir -p bin/tools
	GOBIN= $(GO) build -C tools -o ../bin/tools/ tool

# The vulnerability database comes as a Go module, so that the check needs no
# other service; its version is pinned like any other.
VULNDB = bin/vulndb/index/db.json

$(VULNDB): bin/tools/indexdb
	rm -rf bin/vulndb
	bin/tools/indexdb -out bin/vulndb -vulns "$$(cd tools && $(GO) list -m -f '{{.Dir}}' golang.org/x/vulndb)/data/osv"

lint: $(TOOLS) $(VULNDB) ## formatting, vet, linters, known vulnerabilities
	@unformatted="$$(gofmt -l $$($(GO_SOURCES)))"; \
	if [ -n "$$unformatted" ]; then printf 'gofmt would change:\n%s\n' "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) vet -C test/fixtures ./...
	bin/tools/golangci-lint run --allow-parallel-runners ./...
	bin/tools/govulncheck -db "file://$(CURDIR)/bin/vulndb" ./...

fmt: $(TOOLS) ## format the Go code
	bin/tools/gofumpt -w $$($(GO_SOURCES))

docs: ## regenerate the references below docs/
	$(GO) generate ./...

# What does not work on a platform is said in the README; it must build there.
cross: ## build for every supported platform
	@for os in linux darwin windows; do for arch in amd64 arm64; do \
		echo "$$os/$$arch"; \
		CGO_ENABLED=0 GOOS=$$os GOARCH=$$arch $(GO) build -trimpath -pgo=$(PGO) -o "dist/durward-$$os-$$arch" ./cmd/durward; \
	done; done

clean: ## remove what was built
	rm -rf bin dist .cache bench/out
