# Commands for working on Temper; `make` lists them. Go's caches decide what is built again.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# DATA is the folder of `make dev`. DEV_FLAGS are for temper dev, DEMO_FLAGS for the demonstration, TEST_FLAGS for go test,
# BENCH_FLAGS for the bench, RAMDISK_FLAGS for mkramdisk, CHAOS_FLAGS for the crash matrix, SOAK_FLAGS for the soak. GUARDS are
# the guards that chaos-guards removes; none = all.
DATA ?= .temper/dev
# VERSION is what the programs of `make release` say they are, RELEASE the folder of its tarballs, and ARCHITECTURES are those that get one.
VERSION ?= $(shell git describe --tags --always --dirty)
RELEASE ?= bin/release
ARCHITECTURES ?= amd64 arm64
# test/system takes longest, so it begins first. Those that are as heavy, test/chaos and test/faults, come after it.
PACKAGES ?= ./test/system ./...
# Other modules in this repository, each with a go.mod of its own.
MODULES := . deploy/temporal-dev test/metal3 test/pictures tools

# TEMPORAL_TAGS leave out of temporal-dev what one machine never uses, a quarter of its packages: the client of Kubernetes that scales
# workers, and Envoy's xDS in the client of Google's storage. Another set of tags compiles nearly all of it again.
TEMPORAL_TAGS := release,disable_grpc_modules

.PHONY: help
help: ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: temporal-dev ## build bin/temper and bin/temporal-dev
	go build -o bin/temper ./cmd/temper

.PHONY: temporal-dev
temporal-dev:
	go build -C deploy/temporal-dev -tags $(TEMPORAL_TAGS) -ldflags="-s -w" -o ../../bin/temporal-dev .

.PHONY: release
release: ## make a tarball for Linux on amd64 and one on arm64, which need no Go, and the ramdisk, in bin/release
	@RELEASE='$(RELEASE)' VERSION='$(VERSION)' ARCHITECTURES='$(ARCHITECTURES)' TEMPORAL_TAGS='$(TEMPORAL_TAGS)' deploy/release.sh

.PHONY: demo
demo: build ## deploy simulated servers while a conductor is killed, and show what happens; stops what it starts
	go build -o bin/demo ./test/demo
	@bin/demo $(DEMO_FLAGS)

.PHONY: dev
dev: build ## run everything on this machine until Ctrl-C; the next start continues with the same data
	@bin/temper dev --data $(DATA) $(DEV_FLAGS)

# slowest prints the ten slowest packages or tests of bin/test.json, with their seconds.
comma := ,
slowest = echo "The slowest $(1):"; sed -nE 's/.*"Action":"(pass|fail)","Package":"([^"]*)",$(2)"Elapsed":([0-9.]+).*/'"$(if $(2),\4 \2 \3,\3 \2)"'/p' bin/test.json | sort -rn | sed -n 1,10p

.PHONY: test
test: build ## run all tests, and start what they need
	@{ command -v ipmi_sim && command -v ipmitool; } >/dev/null || [ "$$(id -u)" != 0 ] || { apt-get update && apt-get install --yes openipmi ipmitool; }
	@{ command -v qemu-system-x86_64 && test -e /usr/share/OVMF/OVMF_CODE_4M.fd; } >/dev/null || [ "$$(id -u)" != 0 ] || { apt-get update && apt-get install --yes --no-install-recommends qemu-system-x86 ovmf; }
	@command -v htpasswd >/dev/null || [ "$$(id -u)" != 0 ] || { apt-get update && apt-get install --yes --no-install-recommends apache2-utils; }
	@$(MAKE) rbac-tables
	@bin/temper dev prepare
	@go build -C tools -o ../bin/ gotest.tools/gotestsum
	go test -C deploy/temporal-dev -tags $(TEMPORAL_TAGS) -timeout 5m $(TEST_FLAGS) ./...
	TEMPER_TEST_PROGRAMS=$(CURDIR)/bin go test -C test/metal3 -timeout 15m $(TEST_FLAGS) ./...
	@# Most tests wait for other processes, so that more of them run at once than there are cores. On a busy machine a few tests are
	@# too slow for what they wait for: up to ten that failed run again, with nothing beside them, and the end says which ones did.
	@rm -f bin/rerun.txt
	TEMPER_TEST_REQUIRE=1 TEMPER_TEST_PROGRAMS=$(CURDIR)/bin bin/gotestsum --format pkgname-and-test-fails --hide-summary skipped \
		--rerun-fails=1 --rerun-fails-max-failures=10 --rerun-fails-run-root-test --rerun-fails-report bin/rerun.txt --packages '$(PACKAGES)' \
		--jsonfile bin/test.json -- -timeout 20m -p 2 -parallel 8 $(TEST_FLAGS) || failed=1; $(call slowest,packages,); \
		$(call slowest,tests,"Test":"([^"]*)"$(comma)); \
		[ ! -s bin/rerun.txt ] || { echo "These failed beside other tests, and ran again alone:"; cat bin/rerun.txt; }; exit $${failed:-0}

.PHONY: test-all
test-all: ## every case of the tests, a crash of each kind, the quirks one by one, a soak and fuzzing; before a release
	@# Here, because compiling for two architectures would take most of the time that a package's tests may take.
	$(MAKE) release
	@{ command -v keystone-manage && command -v openstack; } >/dev/null || [ "$$(id -u)" != 0 ] || { apt-get update && apt-get install --yes --no-install-recommends keystone python3-openstackclient python3-ironicclient; }
	TEMPER_TEST_ALL=1 $(MAKE) test
	$(MAKE) quirks
	$(MAKE) fuzz FUZZ_TIME=2m
	$(MAKE) chaos CHAOS_FLAGS="-most 1"
	$(MAKE) soak SOAK_FLAGS="-for 2m"

# gitleaks looks for secrets in the whole history (.gitleaks.toml says where made-up ones are). Its dependencies do not go together with golangci-lint's in one module.
GITLEAKS_VERSION := v8.30.1
.PHONY: check
check: tools ## formatting, vet, lint, workflowcheck, import rules, generated files, go.mod
	bin/golangci-lint fmt --diff
	go vet ./...
	go -C test/pictures vet ./...
	go -C test/metal3 vet ./...
	@# One that runs in another checkout of the machine is no reason to fail.
	bin/golangci-lint run --allow-parallel-runners
	bin/workflowcheck ./workflows/...
	go test ./internal/archtest/...
	@test -x bin/gitleaks || GOBIN=$(CURDIR)/bin go install github.com/zricethezav/gitleaks/v8@$(GITLEAKS_VERSION)
	bin/gitleaks git --no-banner --redact --log-level error .
	@before="$$(git diff | git hash-object --stdin)"; go generate ./...; \
		after="$$(git diff | git hash-object --stdin)"; \
		test "$$before" = "$$after" || { git --no-pager diff --stat; echo "generated files were not up to date: commit them" >&2; exit 1; }
	@for m in $(MODULES); do echo "go mod tidy -diff, $$m"; go -C $$m mod tidy -diff; done

.PHONY: fmt
fmt: tools ## format the code
	bin/golangci-lint fmt

.PHONY: bench
bench: build ## measure performance, and compare it with Ironic's
	go build -o bin/bench ./test/bench
	@bin/bench $(BENCH_FLAGS)

.PHONY: chaos
chaos: build ## kill processes at every step of every operation, and write docs/crash-matrix.md
	go build -tags chaos -o bin/chaos/temper ./cmd/temper
	ln -sf ../temporal-dev bin/chaos/temporal-dev
	go build -o bin/chaos/run ./test/chaos
	@bin/chaos/run $(or $(CHAOS_FLAGS),--report)

.PHONY: chaos-guards
chaos-guards: build ## remove one guard after the other in a copy, and check that the crash matrix fails
	go build -o bin/chaos/run ./test/chaos
	@bin/chaos/run --guards $(GUARDS)

.PHONY: acceptance
acceptance: build ## have Metal3's own provisioner take hosts of each of its BMC schemes through their lives
	TEMPER_TEST_ALL=1 TEMPER_TEST_PROGRAMS=$(CURDIR)/bin go test -C test/metal3 -count 1 -timeout 15m -v $(TEST_FLAGS) ./...

# Ironic's tables of who may do what are in Debian's package of Ironic, which is unpacked and not installed.
.PHONY: rbac-tables
rbac-tables:
	@test -e bin/rbac/test_rbac_project_scoped.yaml || ! command -v apt-get >/dev/null || { mkdir -p bin/rbac && cd bin/rbac && \
		{ apt-get download python3-ironic || { [ "$$(id -u)" = 0 ] && apt-get update && apt-get download python3-ironic; }; } && \
		dpkg-deb --fsys-tarfile python3-ironic_*.deb | tar --extract --wildcards --strip-components 9 './usr/lib/python3/dist-packages/ironic/tests/unit/api/test_rbac_*_scoped.yaml' && rm python3-ironic_*.deb; }

.PHONY: rbac
rbac: rbac-tables ## run Ironic's tables of who may do what
	TEMPER_TEST_REQUIRE=1 TEMPER_TEST_RBAC_ALL=1 go test ./test/rbac -count 1 -timeout 20m -v $(TEST_FLAGS)

.PHONY: quirks
quirks: ## take out, one after the other, what the driver does for BMCs that are different, and check that its tests fail
	go test -count 1 -timeout 30m -v ./internal/bmc/redfish -run '^TestEveryRowOfTheTableOfQuirksIsNeeded$$' $(TEST_FLAGS)
	go test -count 1 -timeout 60m -parallel 8 -v ./test/quirks $(TEST_FLAGS) -all

.PHONY: fuzz
fuzz: ## talk to BMCs whose answers are spoiled, for FUZZ_TIME (10m)
	go test ./internal/bmc/redfish -run '^$$' -fuzz FuzzBMCs -fuzztime $(or $(FUZZ_TIME),10m)

.PHONY: soak
soak: build ## kill processes at random while operations run on a faulty rack, and check the result
	go build -o bin/soak ./test/soak
	@bin/soak $(SOAK_FLAGS)

.PHONY: vm
vm: build ## deploy virtual machines in more ways than make test; needs what make test installs
	@command -v qemu-img >/dev/null || [ "$$(id -u)" != 0 ] || { apt-get update && apt-get install --yes --no-install-recommends qemu-utils; }
	@{ command -v dnsmasq && test -e /usr/lib/ipxe/snponly.efi; } >/dev/null || [ "$$(id -u)" != 0 ] || { apt-get update && apt-get install --yes --no-install-recommends dnsmasq-base ipxe ipxe-qemu; }
	TEMPER_TEST_REQUIRE=1 TEMPER_TEST_VM=1 TEMPER_TEST_PROGRAMS=$(CURDIR)/bin go test ./test/system -count 1 -timeout 25m -run 'VirtualMachine|DeployedSystem|SecurelyBooted|EarlierTenant' $(TEST_FLAGS)

.PHONY: ramdisk
ramdisk: ## build a ramdisk from Debian's packages, as an ISO and more, in bin/ramdisk; needs apt, but not root. FLAVOUR=rescue adds SSH and tools
	CGO_ENABLED=0 GOOS=linux GOARCH=amd64 go build -trimpath -buildvcs=false -ldflags="-s -w" -o bin/ramdisk/init ./internal/ramdisk/init
	CGO_ENABLED=0 GOOS=linux GOARCH=amd64 go build -trimpath -buildvcs=false -ldflags="-s -w" -o bin/ramdisk/temper-agent ./cmd/temper-agent
	go build -o bin/mkramdisk ./internal/ramdisk/mkramdisk
	bin/mkramdisk --flavour "$(FLAVOUR)" $(RAMDISK_FLAGS)

.PHONY: pictures
pictures: build ## use Temporal's UI in headless Chromium, check what each click does, and write docs/pictures
	@command -v chromium chromium-browser google-chrome >/dev/null || apt-get install --yes chromium fonts-dejavu-core
	TEMPER_TEST_PROGRAMS=$(CURDIR)/bin go test -C test/pictures -count 1 -timeout 20m $(TEST_FLAGS) ./... -out ../../docs/pictures

# govulncheck asks the database at vuln.go.dev, or VULN_DB, a copy of it. It fails where it reaches neither.
VULN_DB ?= https://vuln.go.dev
VULN_VERSION := v1.1.4
.PHONY: vuln
vuln: ## ask Go's database of vulnerabilities about this module and what it needs; fails if it can't be reached
	@for m in $(MODULES); do echo "govulncheck, $$m"; go run golang.org/x/vuln/cmd/govulncheck@$(VULN_VERSION) -C $$m -db $(VULN_DB) ./...; done

.PHONY: tools
tools:
	go build -C tools -o ../bin/ tool
