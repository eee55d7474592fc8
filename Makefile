# XPasteBridge. `make help` lists the targets.

SHELL = /bin/bash
.SHELLFLAGS = -eu -o pipefail -c
.DEFAULT_GOAL = help
.PHONY: help build run test table held-keys check soak fuzz store-kills bench leaks install install-units uninstall \
  list-installed deb prove-package clean

# Where things are installed. DESTDIR is put before every path, for packagers.
PREFIX ?= /usr/local
DESTDIR ?=
BINDIR = $(PREFIX)/bin
MANDIR = $(PREFIX)/share/man
DOCDIR = $(PREFIX)/share/doc/xpastebridge
LIBEXECDIR = $(PREFIX)/libexec/xpastebridge
ACTIONDIR = $(PREFIX)/share/xpastebridge/actions.d
DOCS = $(wildcard docs/*.md schemas/*.json)
# Both /usr/lib and /usr/local/lib are on the user service manager's search path.
UNITDIR = $(PREFIX)/lib/systemd/user
DBUSDIR = $(PREFIX)/share/dbus-1/services
BASHDIR = $(PREFIX)/share/bash-completion/completions
ZSHDIR = $(PREFIX)/share/zsh/site-functions
FISHDIR = $(PREFIX)/share/fish/vendor_completions.d
# The tray's signs, where every icon theme looks in the end.
ICONDIR = $(PREFIX)/share/icons/hicolor/scalable/status
ICONS = $(wildcard data/icons/hicolor/scalable/status/*.svg)

# Where Swift builds; one folder for release and debug.
SCRATCH ?= .build
BINARY = $(SCRATCH)/release/xpastebridge
HELPER = $(SCRATCH)/release/xpastebridge-action
SWIFT_RELEASE = swift build --scratch-path $(SCRATCH) -c release --static-swift-stdlib
SWIFT_BUILD = $(SWIFT_RELEASE) --product xpastebridge && $(SWIFT_RELEASE) --product xpastebridge-action
export XPASTEBRIDGE = $(abspath $(BINARY))

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 12
	@echo
	@echo "Variables: PREFIX (now $(PREFIX)), DESTDIR, SCRATCH (now $(SCRATCH));"
	@echo "XPB_SKIP_PACKAGES=1 in the environment keeps make from installing Debian packages."

build: ## Build the release binary, .build/release/xpastebridge (installs missing packages)
	Scripts/install-packages build
	$(SWIFT_BUILD)

run: ## Show it at work: real programs copy and paste, each decision with its rule
	Scripts/install-packages build run
	$(SWIFT_BUILD)
	Scripts/demo $(BINARY)

check: ## Check format, layers, words and documents; builds nothing
	Scripts/check

test: ## Run every check and test, to the closing line `N passed, N failed`
	Scripts/install-packages build test
	Scripts/test

# BLOCK=NAME makes one part of it; the names are in Tests/IntegrationTests/Heavy/TableBlock.swift.
table: ## Every pair of the real programs with and without the daemon (`make test` tries a part of it)
	Scripts/install-packages build test
	$(SWIFT_BUILD)
	XPB_TABLE=$(or $(BLOCK),whole) XPB_BINARY=$(abspath $(BINARY)) \
	  swift test --scratch-path $(SCRATCH) --filter HeavyTableTests

held-keys: ## Hold the copy key down in each real program under each kind of refusal; 7 minutes
	Scripts/install-packages build test
	$(SWIFT_BUILD)
	XPB_HELD_KEYS=1 XPB_BINARY=$(abspath $(BINARY)) swift test --scratch-path $(SCRATCH) --filter HeldKeyTableTests

# SEED=N gives the same orders again; COUNT=N more or fewer transfers.
soak: ## Thousands of mixed transfers with deaths at random moments, and what is left of them
	Scripts/install-packages build test
	$(SWIFT_BUILD)
	$(MAKE) -s -C Tests/Clients
	Tests/Soak/soak --binary $(BINARY) --clients Tests/Clients/build $(COUNT:%=--count %) $(SEED:%=--seed %)

fuzz: ## Fuzz what reads other people's bytes, each target for SECONDS (60), two side by side
	Scripts/install-packages build
	SCRATCH=$(SCRATCH) Fuzz/run --seconds $(or $(SECONDS),60)

# COUNT=N more or fewer kills; SEED=N gives the same orders again. The folder is in memory: a process's end isn't the disk's.
store-kills: ## Kill a writer of the boards' store 10,000 times and look each time for what it had confirmed
	Scripts/install-packages build
	swift build --scratch-path $(SCRATCH) -c release --product StoreTrial
	rm -rf /dev/shm/xpastebridge-store-kills
	$(SCRATCH)/release/StoreTrial kills $(or $(COUNT),10000) /dev/shm/xpastebridge-store-kills $(SEED)
	rm -rf /dev/shm/xpastebridge-store-kills

bench: ## Measure against the budgets, a bare C owner and other programs; fails only if it can't measure
	Scripts/install-packages build bench
	$(SWIFT_BUILD)
	swift build --scratch-path $(SCRATCH) -c release --product PolicyBench
	swift build --scratch-path $(SCRATCH) -c release --product StoreBench
	Benchmarks/run --binary $(BINARY) --policy-bench $(SCRATCH)/release/PolicyBench \
	  --store-bench $(SCRATCH)/release/StoreBench

# COPIES=N protected copies in each cell of the table.
leaks: ## Count the copies that a sniffer reads, with and without protection; fails if protection fails
	Scripts/install-packages build test
	$(SWIFT_BUILD)
	Benchmarks/leaks --binary $(BINARY) $(COPIES:%=--copies %)

# What is installed, in pairs of source and destination; uninstall removes the same list.
EXAMPLES = $(wildcard policy/*.yaml policy/examples/*.yaml)
MAN1 = $(wildcard man/*.1)
MAN5 = $(wildcard man/*.5)
MAN7 = $(wildcard man/*.7)
INSTALLED = $(BINDIR)/xpastebridge $(LIBEXECDIR)/xpastebridge-action $(UNITDIR)/xpastebridge.service \
  $(UNITDIR)/xpastebridge@.service $(DBUSDIR)/org.xpastebridge.service \
  $(addprefix $(ACTIONDIR)/,$(notdir $(wildcard actions/*.yaml))) \
  $(addprefix $(ICONDIR)/,$(notdir $(ICONS))) \
  $(MAN1:man/%=$(MANDIR)/man1/%) $(MAN5:man/%=$(MANDIR)/man5/%) $(MAN7:man/%=$(MANDIR)/man7/%) \
  $(addprefix $(DOCDIR)/,$(notdir $(DOCS))) \
  $(addprefix $(DOCDIR)/examples/,$(notdir $(EXAMPLES))) \
  $(if $(wildcard completions/xpastebridge.bash),$(BASHDIR)/xpastebridge) \
  $(if $(wildcard completions/xpastebridge.zsh),$(ZSHDIR)/_xpastebridge) \
  $(if $(wildcard completions/xpastebridge.fish),$(FISHDIR)/xpastebridge.fish)

install: ## Install the binaries (build them first), the user unit, actions, icons, man pages, completions and examples
	@for file in $(BINARY) $(HELPER); do \
	  test -x $$file || { echo "make install: no $$file; run \`make build\` first" >&2; exit 1; }; done
	install -D -m 755 -s $(BINARY) $(DESTDIR)$(BINDIR)/xpastebridge
	# No read permission: the kernel keeps such a program's memory and descriptors from the user's other processes.
	install -D -m 711 -s $(HELPER) $(DESTDIR)$(LIBEXECDIR)/xpastebridge-action
	for file in $(wildcard actions/*.yaml); do install -D -m 644 -t $(DESTDIR)$(ACTIONDIR) $$file; done
	for file in $(ICONS); do install -D -m 644 -t $(DESTDIR)$(ICONDIR) $$file; done
	$(MAKE) -s install-units
	for page in $(MAN1); do install -D -m 644 -t $(DESTDIR)$(MANDIR)/man1 $$page; done
	for page in $(MAN5); do install -D -m 644 -t $(DESTDIR)$(MANDIR)/man5 $$page; done
	for page in $(MAN7); do install -D -m 644 -t $(DESTDIR)$(MANDIR)/man7 $$page; done
	for file in $(EXAMPLES); do install -D -m 644 -t $(DESTDIR)$(DOCDIR)/examples $$file; done
	for file in $(DOCS); do install -D -m 644 -t $(DESTDIR)$(DOCDIR) $$file; done
	$(if $(wildcard completions/xpastebridge.bash),install -D -m 644 completions/xpastebridge.bash \
	  $(DESTDIR)$(BASHDIR)/xpastebridge)
	$(if $(wildcard completions/xpastebridge.zsh),install -D -m 644 completions/xpastebridge.zsh \
	  $(DESTDIR)$(ZSHDIR)/_xpastebridge)
	$(if $(wildcard completions/xpastebridge.fish),install -D -m 644 completions/xpastebridge.fish \
	  $(DESTDIR)$(FISHDIR)/xpastebridge.fish)

# The unit of a named display is the other one but for its command line.
install-units: # part of install: the user units, and what starts them when their bus name is asked for
	install -d $(DESTDIR)$(UNITDIR)
	sed 's|^ExecStart=/usr/local/bin/|ExecStart=$(BINDIR)/|' systemd/xpastebridge.service \
	  >$(DESTDIR)$(UNITDIR)/xpastebridge.service
	sed 's|^ExecStart=.*|& --display %I|; s|^Description=.*|& (display %I)|' $(DESTDIR)$(UNITDIR)/xpastebridge.service \
	  >$(DESTDIR)$(UNITDIR)/xpastebridge@.service
	chmod 644 $(DESTDIR)$(UNITDIR)/xpastebridge.service $(DESTDIR)$(UNITDIR)/xpastebridge@.service
	install -D -m 644 -t $(DESTDIR)$(DBUSDIR) dbus/org.xpastebridge.service

# For packagers' checks: the paths, one a line.
list-installed:
	@printf '%s\n' $(INSTALLED)

deb: build ## Make a Debian package, .build/deb/xpastebridge_*.deb
	Scripts/install-packages deb
	Scripts/make-deb $(SCRATCH)

# Needs root, debootstrap and systemd-nspawn.
prove-package: deb ## Install the package on a bare Debian 12 that boots, to a refusal that explains itself; each step timed
	Scripts/prove-package $(SCRATCH)/deb/*.deb

# Folders that only this project uses go too when they are empty; shared ones stay.
uninstall: ## Remove exactly what install put there
	rm -f $(addprefix $(DESTDIR),$(INSTALLED))
	for folder in $(addprefix $(DESTDIR),$(DOCDIR)/examples $(DOCDIR) $(LIBEXECDIR) $(ACTIONDIR) $(dir $(ACTIONDIR))); do \
	  [ ! -d $$folder ] || rmdir --ignore-fail-on-non-empty $$folder; done

clean: ## Remove what was built
	rm -rf $(SCRATCH) results
	@if [ -f Tests/Clients/Makefile ]; then $(MAKE) -C Tests/Clients clean; fi
