# Each command also works when typed by hand. `make` alone prints this list.
SHELL     := /bin/bash
OUT       := out
BIN       := $(OUT)/bin/interleave
EVE       := $(OUT)/bin/eve
GONET     := $(OUT)/bin/gonet
GO        ?= go
GOLANGCI  := v2.15.0
DEADCODE  := v0.52.0
CYCLONEDX := v1.9.0
BENCHSTAT := v0.0.0-20260908200009-22c9c6c9d4da
FUZZTIME  ?= 20s
RUN       ?= --for 10m
SOAK      ?= 10m
SOAKED    ?= 100000
MUTANTS   ?= 100000000
BESIEGERS ?= 10000
N         ?= 10
BESIDE    ?= nothing
RINGS     ?= core
# The packages of the workspace (go.work): ./... alone has only those of the laboratory.
ALL       := ./... ./gonet/... ./gonet/cmd/gonet
PKG       ?= ./gonet/...
BENCH     ?= .
ROUNDS    ?= 6
PREFIX    ?= /usr/local

# With -trimpath, a new clone finds the builds of others in go's cache: without, the key of a build
# includes the folder. cmd/prove has the same line.
export GOFLAGS := $(strip $(filter-out -trimpath,$(shell $(GO) env GOFLAGS)) -trimpath)

# The program that runs the tests. FRESH=1 makes it run remembered tests, too.
# With AGAIN=3, a failed test that passes three times when it runs again does not fail the run.
PROVE     := $(OUT)/bin/prove
RUNTESTS  := $(PROVE) run $(if $(FRESH),--fresh) $(if $(AGAIN),--again=$(AGAIN))

.PHONY: help run test whole race sanitize rest check flakes test-times soak siege irctest packetdrill lint format golden fuzz bench beside benchstat portability toolchains vsix tree-sitter install release ready clean lint-go lint-others $(BIN) $(EVE) $(GONET) $(PROVE)

help: ## print this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14
	@printf '\nThe rings of tests (internal/prove/rings.toml; tests that have passed and have not changed are not run again):\n'
	@sed -nE 's/^name +. "(.*)"$$/\1/p; s/^about = "(.*)"$$/\1/p' internal/prove/rings.toml | paste - - | expand -t 14

run: toolchains $(BIN) $(EVE) ## set up, measure for ten minutes (RUN=--for 10m), end with the path of the report
	$(BIN) run $(RUN)

test:     RINGS = core
whole:    RINGS = whole
race:     RINGS = race
sanitize: RINGS = sanitize

test: ready ## set up, run the tests of the first ring; FRESH=1: unchanged ones, too
	$(RUNTESTS) $(RINGS)

whole: ready ## the tests of the second ring
	$(RUNTESTS) $(RINGS)

race: ready ## the tests of our own packages under the race detector
	$(RUNTESTS) $(RINGS)

sanitize: ready ## the C servers, Eve's runtime and programs under ASan, UBSan and TSan, Go servers under -race
	$(RUNTESTS) $(RINGS)

rest:     RINGS = whole race sanitize
rest: ready ## the three other rings in one run, which keeps both cores busy
	$(RUNTESTS) $(RINGS)

check:    RINGS = core whole race sanitize
check: ready ## all rings in one run; a failure stops the rings after its own
	$(RUNTESTS) $(RINGS)

flakes: ready ## run RINGS N times BESIDE nothing, busy loops, io or stops, and count the failures
	$(PROVE) flakes $(RINGS) --runs $(N) --beside $(BESIDE)

test-times: ready ## run RINGS afresh and print a table: package, wall, CPU, waits, builds
	$(PROVE) run --fresh --times $(RINGS)

soak: toolchains ## Eve's servers, for SOAK: clients come and go, memory stays; then SOAKED clients of each, and no leak; GoNet with SOAKED connections and MUTANTS mutated packets
	$(GO) test -count=1 -timeout 2h -parallel 8 -v -run 'Soak' ./eve/servers -args -soak=$(SOAK)
	$(GO) test -count=1 -timeout 2h -parallel 8 -v -run 'Soak' ./eve/servers -args -sanitize=address -connections=$(SOAKED)
	$(GO) test -count=1 -timeout 4h -v -run 'Soak|MutatedSessions' ./gonet -args -connections=$(SOAKED) -mutants=$(MUTANTS)

siege: toolchains ## the chat for most of an hour: BESIEGERS clients that are silent, slow or do not read, by the clock; then a minute of abuse for each model
	$(GO) test -count=1 -timeout 1h -parallel 1 -v -run SlowClients ./services/chat -args -slow=$(BESIEGERS) -clock
	$(GO) test -count=1 -timeout 1h -parallel 1 -v -run HostileClients ./services/chat -args -hostile=1m

irctest: ## the public suite irctest against Papaya (IRCTEST=FOLDER instead of fetching it; UPDATE=1 rewrites papaya/irctest/expected.txt)
	papaya/irctest/run.sh

packetdrill: ## the public packetdrill scripts of TCP on GoNet's machine (PACKETDRILL=FOLDER instead of fetching them; UPDATE=1 rewrites gonet/packetdrill/testdata/expected.txt)
	gonet/packetdrill/run.sh

lint: ## gofmt, vet, linters, dead code, GoNet and Papaya for other systems, each language's formatter, clang-tidy, shellcheck
	@$(MAKE) --no-print-directory -j2 -Otarget TOOLS=--all lint-go lint-others

lint-go: $(OUT)/bin/golangci-lint $(OUT)/bin/deadcode
	$(OUT)/bin/golangci-lint run $(ALL)
	internal/arch/deadcode.sh $(OUT)/bin/deadcode $(ALL)
	internal/arch/systems.sh $(GO)
	for m in wireguard wintun; do (cd gonet/$$m && GOWORK=off \
	  $(abspath $(OUT)/bin/golangci-lint) run -c ../../.golangci.yml ./...) || exit 1; done
	$(GO) vet -tags gonet ./services/...

# Its tools are fetched beside the other half, which needs none but go and cc.
lint-others: toolchains
	@[ ! -e /usr/include/sqlite3.h ] || $(GO) vet -tags gin,nomsgpack,libsqlite3 ./services/images/...
	shellcheck .ci/run $$(git ls-files '*.sh')
	clang-format --dry-run -Werror $$(git ls-files 'eve/runtime/*.cpp' 'eve/runtime/*.hpp')
	internal/arch/c.sh
	./format.sh

format: ## rewrite what is not as its language's formatter has it (Go, Rust, Erlang, JavaScript, Java, ...)
	gofmt -w $$(git ls-files '*.go')
	clang-format -i $$(git ls-files 'eve/runtime/*.cpp' 'eve/runtime/*.hpp')
	./format.sh --write

golden: ## rewrite the golden files; look at the diff
	$(GO) test $$(grep -rlF 'flag.Bool("update"' --include='*_test.go' internal cmd eve gonet papaya | xargs -n1 dirname | sort -u | sed 's,^,./,') -update

fuzz: ## every fuzz target for FUZZTIME
	@grep -rlE '^func Fuzz' --include='*_test.go' . | while read -r f; do \
	  grep -oE '^func Fuzz[A-Za-z0-9_]+' "$$f" | sed 's/func //' | while read -r t; do \
	    echo "$$t ($$(dirname "$$f"))"; (cd "$$(dirname "$$f")" && GOWORK=off $(GO) test -run='^$$' -fuzz="^$$t\$$" -fuzztime=$(FUZZTIME) -fuzzminimizetime=10x .) || exit 1; \
	  done || exit 1; done

bench: ## Go benchmarks of the instrument itself, of Eve and its runtime, of GoNet and Papaya
	$(GO) test -run='^$$' -bench=. -benchmem ./internal/... ./eve/... ./gonet/... ./papaya/...

beside: ## GoNet beside gVisor and tun2socks, in programs that carry a stack, in ROUNDS rounds (A B B A): gonet/beside/README.md
	cd gonet/beside && GOWORK=off $(GO) run . -rounds $(ROUNDS)

benchstat: $(OUT)/bin/benchstat ## compare the benchmarks BENCH of PKG at commit BASE and at HEAD, in ROUNDS rounds (A B A B)
	./benchstat.sh '$(BASE)' '$(PKG)' '$(BENCH)' '$(ROUNDS)'

portability: toolchains $(BIN) ## c-process of the chat and of the sink on other systems: reports which builds pass
	$(BIN) run chat-portability sink-portability --full && $(BIN) report last

# The file of versions keeps the lines of tools that another target needs and this one does not: the
# results that prove remembers hold as long as the versions are the same.
toolchains: ## install the tools that the models need; SKIP unavailable ones, with a reason
	@mkdir -p $(OUT)/tools
	@set -o pipefail; ./toolchains.sh $(TOOLS) | tee $(OUT)/tools/said
	@touch $(OUT)/tools/versions
	@sed 's/^installed /ok /' $(OUT)/tools/said | awk '{ name = $$2; sub(/:$$/, "", name) } \
	  FILENAME == "-" { said[name] } FILENAME == "-" || !(name in said)' - $(OUT)/tools/versions \
	  > $(OUT)/tools/versions.new && mv $(OUT)/tools/versions.new $(OUT)/tools/versions

# Tools are fetched while the test programs are compiled. With READY=1 the tools are there, and prove
# compiles the test programs itself: the first tests run while those with the race detector are made.
ready:
	@command -v $(GO) >/dev/null || { echo 'go is missing: install Go 1.26 or newer' >&2; exit 1; }
	@$(MAKE) --no-print-directory -j2 RINGS="$(RINGS)" \
	  TOOLS=$(if $(filter-out core,$(RINGS)),--all,--tests) \
	  $(if $(READY),$(EVE) $(PROVE),toolchains programs)

vsix: ## pack the extension of VS Code for Eve into out/eve.vsix (needs npm, its registry, and zip)
	eve/editors/vscode/pack.sh

tree-sitter: ## make the tree-sitter parser of Eve for Neovim and Helix (needs cargo once, node and cc)
	eve/editors/tree-sitter/generator.sh
	eve/editors/tree-sitter/build.sh

release: $(OUT)/bin/cyclonedx-gomod ## build VERSION=v1.2.3 into out/release: tarballs, .deb, images, SBOM, checksums; make the tags
	./release.sh $(VERSION)

install: ## build eve, gonet, gonet-wg and papaya, and install them below PREFIX=/usr/local, with manual pages and files of editors
	@for p in eve gonet gonet-wg papaya; do dir=.; main=./cmd/$$p; \
	  case $$p in gonet) dir=gonet/cmd/gonet main=.;; gonet-wg) dir=gonet/wireguard;; esac; \
	  (cd $$dir && GOWORK=off CGO_ENABLED=0 $(GO) build -trimpath -o $(abspath $(OUT))/bin/$$p $$main) && \
	  install -D -m 755 $(OUT)/bin/$$p "$(DESTDIR)$(PREFIX)/bin/$$p" && \
	  echo "installed $(DESTDIR)$(PREFIX)/bin/$$p" || exit 1; done
	@eve/editors/share.sh $(OUT)/bin/eve "$(DESTDIR)$(PREFIX)/share"
	@install -D -m 644 docs/papaya/man/papaya.1 "$(DESTDIR)$(PREFIX)/share/man/man1/papaya.1"
	@install -D -m 644 docs/papaya/man/papaya.toml.5 "$(DESTDIR)$(PREFIX)/share/man/man5/papaya.toml.5"

.PHONY: programs
programs: $(EVE) $(PROVE)
	$(PROVE) build $(RINGS)

clean: ## remove built files; recorded runs stay
	rm -rf $(OUT)/bin $(OUT)/build $(OUT)/cache $(OUT)/tools

$(BIN):
	$(GO) build -o $(BIN) ./cmd/interleave

$(EVE):
	$(GO) build -o $(EVE) ./cmd/eve

$(GONET):
	$(GO) build -o $(GONET) ./gonet/cmd/gonet

$(PROVE):
	$(GO) build -o $(PROVE) ./cmd/prove

# All checkouts of a user share the tools that go builds, since linking one takes seconds.
KEPT := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/interleave/tools
tool  = GOBIN=$(KEPT)/$(@F)-$(2) $(GO) install $(1)@$(2) && \
	mkdir -p $(@D) && ln -sf $(KEPT)/$(@F)-$(2)/$(@F) $@

$(OUT)/bin/deadcode:
	$(call tool,golang.org/x/tools/cmd/deadcode,$(DEADCODE))

$(OUT)/bin/cyclonedx-gomod:
	$(call tool,github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod,$(CYCLONEDX))

$(OUT)/bin/benchstat:
	$(call tool,golang.org/x/perf/cmd/benchstat,$(BENCHSTAT))

$(OUT)/bin/golangci-lint:
	$(call tool,github.com/golangci/golangci-lint/v2/cmd/golangci-lint,$(GOLANGCI))
