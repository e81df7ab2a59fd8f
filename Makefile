# Each line works typed by hand too. `make` alone prints this list.
SHELL     := /bin/bash
OUT       := out
BIN       := $(OUT)/bin/interleave
EVE       := $(OUT)/bin/eve
GONET     := $(OUT)/bin/gonet
GO        ?= go
GOLANGCI  := v2.15.0
FUZZTIME  ?= 20s
RUN       ?= --quick
SOAK      ?= 10m
SOAKED    ?= 100000
BESIEGERS ?= 10000

# Much of a test is waiting for a server to rest or to end: four at once of each package keep two cores busy. `make lint` vets.
TESTS     := -parallel 4 -vet=off

.PHONY: help run test whole race sanitize soak siege lint golden fuzz bench portability toolchains clean $(BIN) $(EVE) $(GONET)

help: ## print this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

run: toolchains $(BIN) $(EVE) ## set up, measure (RUN=--quick), end with the path of the report
	$(BIN) run $(RUN)

test: toolchains $(EVE) ## set up, run the tests, conformance of the servers included, but what takes whole
	$(GO) test -count=1 -timeout 9m -p 3 $(TESTS) ./...

whole: toolchains ## every image server on both databases with slow clients, full disks, kill -9, and in a chain; every stream with many clients, and with one that never reads
	@# A request may take five minutes: whoever waits for that does so beside the rest.
	$(GO) test -count=1 -timeout 15m -run SlowImages ./services/images -args -whole & slow=$$!; \
	$(GO) test -count=1 -timeout 15m $(TESTS) -run "Images|SQLite|PostgreSQL|Chain|FullKernel|Crowd" -skip SlowImages ./services/images ./services/stream -args -whole; rest=$$?; \
	wait $$slow && exit $$rest

race: ## the tests of our own packages under the race detector, but those that run C++ alone or one goroutine
	CGO_ENABLED=1 $(GO) test -count=1 -race -timeout 15m $(TESTS) $$($(GO) list ./internal/... ./cmd/... ./eve/... ./gonet/... ./papaya/... | grep -vE 'eve/(build|servers|differential|syntax|format)$$|internal/arch$$')

sanitize: toolchains $(EVE) ## the C servers, Eve's runtime and programs under ASan, UBSan and TSan, Go servers under -race
	$(GO) test -count=1 -timeout 15m ./eve ./eve/build ./eve/servers -args -sanitize=address
	$(GO) test -count=1 -timeout 15m ./eve ./eve/build ./eve/servers -args -sanitize=thread
	$(GO) test -count=1 -timeout 15m -run Sanitizer ./eve/differential -args -sanitized=60
	$(GO) test -count=1 -timeout 15m $(TESTS) ./services/* -args -sanitize=asan
	$(GO) test -count=1 -timeout 15m $(TESTS) ./services/* -args -sanitize=tsan
	$(GO) test -count=1 -timeout 15m $(TESTS) ./services/* -args -sanitize=race

soak: toolchains ## Eve's servers, for SOAK: clients come and go, memory stays; then SOAKED clients of each, and no leak
	$(GO) test -count=1 -timeout 2h -parallel 8 -v -run 'Soak' ./eve/servers -args -soak=$(SOAK)
	$(GO) test -count=1 -timeout 2h -parallel 8 -v -run 'Soak' ./eve/servers -args -sanitize=address -connections=$(SOAKED)

siege: toolchains ## the chat for most of an hour: BESIEGERS clients who say nothing, drip or do not read, by the clock; then a minute of abuse for each model
	$(GO) test -count=1 -timeout 1h -parallel 1 -v -run SlowClients ./services/chat -args -slow=$(BESIEGERS) -clock
	$(GO) test -count=1 -timeout 1h -parallel 1 -v -run HostileClients ./services/chat -args -hostile=1m

lint: $(OUT)/bin/golangci-lint ## gofmt, vet, a short list of linters, GoNet for other systems, clang-format, shellcheck
	$(OUT)/bin/golangci-lint run ./...
	GOOS=darwin CGO_ENABLED=0 $(GO) build ./gonet/...
	GOOS=freebsd CGO_ENABLED=0 $(GO) build ./gonet/...
	$(GO) vet -tags gonet ./services/...
	[ ! -e /usr/include/sqlite3.h ] || $(GO) vet -tags gin,nomsgpack,libsqlite3 ./services/images/...
	shellcheck toolchains.sh .ci/run
	clang-format --dry-run -Werror $$(git ls-files 'eve/runtime/*.cpp' 'eve/runtime/*.hpp')

golden: ## rewrite the golden files; look at the diff
	$(GO) test $$(grep -rlF 'flag.Bool("update"' --include='*_test.go' internal cmd eve gonet | xargs -n1 dirname | sort -u | sed 's,^,./,') -update

fuzz: ## every fuzz target for FUZZTIME
	@grep -rlE '^func Fuzz' --include='*_test.go' . | while read -r f; do \
	  grep -oE '^func Fuzz[A-Za-z0-9_]+' "$$f" | sed 's/func //' | while read -r t; do \
	    echo "$$t ($$(dirname "$$f"))"; $(GO) test -run='^$$' -fuzz="^$$t\$$" -fuzztime=$(FUZZTIME) -fuzzminimizetime=10x "$$(dirname "$$f")" || exit 1; \
	  done || exit 1; done

bench: ## Go benchmarks of the instrument itself, of Eve and what its runtime costs, and of GoNet
	$(GO) test -run='^$$' -bench=. -benchmem ./internal/... ./eve/... ./gonet/...

portability: $(BIN) ## c-process of the chat on other systems: installs zig (100 MB) and reports who builds and passes
	[ -x $(OUT)/tools/zig/ziglang/zig ] || python3 -m pip install --no-deps --target $(OUT)/tools/zig ziglang==0.17.1
	$(BIN) run chat-portability --full && $(BIN) report last

toolchains: ## install what the models need; SKIP with a reason what cannot be had
	@./toolchains.sh

clean: ## remove what was built; recorded runs stay
	rm -rf $(OUT)/bin $(OUT)/build $(OUT)/cache $(OUT)/tools

$(BIN):
	$(GO) build -o $(BIN) ./cmd/interleave

$(EVE):
	$(GO) build -o $(EVE) ./cmd/eve

$(GONET):
	$(GO) build -o $(GONET) ./cmd/gonet

$(OUT)/bin/golangci-lint:
	GOBIN=$(abspath $(OUT)/bin) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI)
