# Aegis: build, tests and tools. `make help` says what each target does.
#
#   SAN=1         AddressSanitizer and UndefinedBehaviorSanitizer
#   CC=clang      another compiler (its objects have a folder of their own)
#   WITHOUT="..."  optional libraries to do without, of jansson zlib libzstd sqlite3 liburing
#                  libpq libssl libcrypto libjwt libnats http_parser wslay
#   EXTRA=...     more compiler flags, such as EXTRA=-march=native
#   V=1           show whole commands
#   BUILD=, BIN=  where objects and programs go
#   PREFIX=, DESTDIR=  where `make install` puts things
#
# Targets that a newcomer calls (run, smoke, test, ...) first run deploy/install-deps.sh and
# then this Makefile once more, so that pkg-config is asked after the libraries came.

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules

VERSION := 0.1.0

CC      := $(if $(filter default,$(origin CC)),gcc,$(CC))
BUILD   ?= build/$(notdir $(firstword $(CC)))$(if $(SAN),-san)$(if $(FUZZER),-fuzz)
BIN     ?= $(if $(SAN),$(BUILD)/bin,bin)
PREFIX  ?= /usr/local
DESTDIR ?=
JOBS    ?= $(shell nproc 2>/dev/null || echo 2)
Q       := $(if $(V),,@)

FUZZ_RUNS      ?= 20000
FUZZ_SECONDS   ?= 60
TORTURE_FRAMES ?= 1000000
SIM_SEEDS      ?= 5000
SIM_FROM       ?= 1
GROWTH         ?= $(BUILD)/growth
GROWTH_RUNS    ?= 5

# --- flags -----------------------------------------------------------------------------------------

PKG_CONFIG ?= pkg-config
MSGPACK    := $(shell $(PKG_CONFIG) --exists msgpack-c 2>/dev/null && echo msgpack-c || echo msgpack)
PACKAGES   := libevent_core libevent_extra $(MSGPACK)

# Optional parts: what is not there is refused in plain words (common/parts.h).
OPTIONAL := $(filter-out $(WITHOUT),jansson zlib libzstd sqlite3 libpq liburing libssl libcrypto \
            libjwt libnats)
PARTS    := $(foreach p,$(OPTIONAL),$(shell $(PKG_CONFIG) --exists $(p) 2>/dev/null && echo $(p)))
part_define = -DAEGIS_PART_$(shell echo $(1) | tr a-z A-Z)='"$(2)"'
PART_DEFINES := $(foreach p,$(PARTS),$(call part_define,$(p),$(shell $(PKG_CONFIG) --modversion $(p))))

# Debian gives these no .pc file: the compiler is asked for the header, whose macros say the version.
BARE_OPTIONAL := $(filter-out $(WITHOUT),http_parser wslay)
bare_header_http_parser := http_parser.h
bare_header_wslay       := wslay/wslay.h
bare_version = $(shell printf '\043include <%s>\n' '$(bare_header_$(1))' | $(CC) -E -dM -x c - 2>/dev/null | \
               sort | sed -n 's/"//g; s/.* WSLAY_VERSION //p; s/.* HTTP_PARSER_VERSION_M[AI][JN]OR //p' | \
               paste -s -d .)
BARE_DEFINES := $(foreach p,$(BARE_OPTIONAL),$(foreach v,$(call bare_version,$(p)),$(call part_define,$(p),$(v))))
BARE_PARTS   := $(foreach p,$(BARE_OPTIONAL),$(if $(call bare_version,$(p)),$(p)))

PKG_CFLAGS := $(shell $(PKG_CONFIG) --cflags $(PACKAGES) $(PARTS) 2>/dev/null) $(PART_DEFINES) $(BARE_DEFINES)
PKG_LIBS   := $(shell $(PKG_CONFIG) --libs $(PACKAGES) $(PARTS) 2>/dev/null) $(BARE_PARTS:%=-l%)

WARN := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla -Werror
SANITIZE    := -fsanitize=address,undefined
OPT_release := -O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
OPT_san     := -O1 -fno-omit-frame-pointer $(SANITIZE) -fno-sanitize-recover=all
OPT         := $(if $(SAN),$(OPT_san),$(OPT_release)) $(if $(FUZZER),-fsanitize=fuzzer-no-link)
HARD_x86_64  := -fcf-protection
HARD_aarch64 := -mbranch-protection=standard
HARD := -fPIE -fstack-protector-strong -fstack-clash-protection $(HARD_$(shell uname -m))

CFLAGS_ALL  := -std=c11 -D_GNU_SOURCE -g $(OPT) $(HARD) $(WARN) -ffp-contract=off \
               -DAEGIS_VERSION='"$(VERSION)"' -pthread -I. $(PKG_CFLAGS) $(EXTRA)
LDFLAGS_ALL := -pie -pthread $(filter -fsanitize%,$(EXTRA)) -Wl,-z,relro,-z,now -Wl,-z,noexecstack -Wl,--as-needed \
               $(if $(SAN),$(SANITIZE))
LIBS        := $(PKG_LIBS) -lm

# Asked for only where tests are built.
TEST_PACKAGES := criterion jansson
TEST_CFLAGS    = $(shell $(PKG_CONFIG) --cflags $(TEST_PACKAGES))
TEST_LIBS      = $(shell $(PKG_CONFIG) --libs $(TEST_PACKAGES))

# --- sources ---------------------------------------------------------------------------------------

ROOMS       := common proto gateway world bot
src_common  := $(wildcard common/*.c common/*/*.c)
src_proto   := $(wildcard proto/*.c)
src_gateway := $(wildcard gateway/*.c gateway/*/*.c)
src_world   := $(wildcard world/*.c world/*/*.c)
src_bot     := $(filter-out bot/main.c,$(wildcard bot/*.c))

TEST_ROOMS   := $(foreach r,common proto gateway world sim bot e2e,$(if $(wildcard tests/$(r)/*.c),$(r)))
src_test     := $(wildcard tests/*.c)
LIMITS       := fanout_alone fanout_link forward_mux idle_bare
src_limit    := tests/bench/limit/limit.c
src_bench    := $(filter-out $(src_limit) $(LIMITS:%=tests/bench/limit/%.c),\
                $(wildcard tests/bench/*.c tests/bench/limit/*.c))
src_fuzz     := $(wildcard tests/fuzz/fuzz_*.c)
src_fuzz_aid := $(filter-out $(src_fuzz) $(if $(FUZZER),tests/fuzz/driver.c),$(wildcard tests/fuzz/*.c))
C_FILES      := $(wildcard *.c $(ROOMS:=/*.[ch]) $(ROOMS:=/*/*.[ch]) tests/*.[ch] tests/*/*.[ch] tests/*/*/*.[ch])

obj = $(patsubst %.c,$(BUILD)/%.o,$(1))
lib = $(patsubst %,$(BUILD)/lib%.a,$(1))
ALL_LIBS := $(call lib,bot gateway world proto common)

LIMIT_PROGRAMS := $(LIMITS:%=$(BIN)/limit/%)
TEST_PROGRAMS := $(TEST_ROOMS:%=$(BUILD)/tests/%_test)
FUZZ_PROGRAMS := $(src_fuzz:tests/fuzz/%.c=$(BUILD)/fuzz/%)

# --- programs --------------------------------------------------------------------------------------

.PHONY: all
all: $(BIN)/aegis $(BIN)/bot  ## build bin/aegis and bin/bot (release, hardened)

define link
@echo "  LD   $@"
@mkdir -p $(@D)
$(Q)$(CC) $(LDFLAGS_ALL) $(1) -o $@ $(filter %.o %.a,$^) $(2) $(LIBS)
endef

$(BIN)/aegis: $(BUILD)/aegis.o $(call lib,gateway world proto common) $(BIN)/.from
	$(call link)

$(BIN)/bot: $(BUILD)/bot/main.o $(call lib,bot proto common) $(BIN)/.from
	$(call link)

define archive
@echo "  AR   $@"
@rm -f $@
$(Q)ar rcs $@ $(filter %.o,$^)
endef

define room_archive
$(BUILD)/lib$(1).a: $(call obj,$(src_$(1))) $(BUILD)/.sources
	$$(call archive)
endef
$(foreach r,$(ROOMS),$(eval $(call room_archive,$(r))))

$(BUILD)/%.o: %.c $(BUILD)/flags
	@echo "  CC   $<"
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(MORE_CFLAGS) -MMD -MP -c -o $@ $<

# Files that the assembler puts into an object (common/embed.h): the compiler does not tell of them.
$(BUILD)/world/edge/watch_page.o: $(wildcard world/edge/page/*)

# Three notes that are written only when they change: other flags make every object anew; a file that
# came or went makes archives anew; programs of another build in the same bin/ are linked anew.
note = mkdir -p $(@D) && { printf '%s\n' '$(subst ','\'',$(1))' | cmp -s - $@ || \
       printf '%s\n' '$(subst ','\'',$(1))' > $@; }

$(BUILD)/flags: FORCE
	@$(call what_is_missing)
	@$(call note,$(CC) $(CFLAGS_ALL) $(LDFLAGS_ALL))

$(BUILD)/.sources: FORCE
	@$(call note,$(sort $(filter %.c,$(C_FILES))))

$(BIN)/.from: FORCE
	@$(call note,$(BUILD))

.PHONY: FORCE
FORCE:

# Say in plain words what the compiler would say in a hundred lines.
what_is_missing = { command -v $(firstword $(CC)) >/dev/null || { \
	echo "make: no compiler '$(firstword $(CC))'; deploy/install-deps.sh installs gcc" >&2; exit 1; }; \
	command -v $(PKG_CONFIG) >/dev/null || { \
	echo "make: pkg-config is missing; deploy/install-deps.sh installs it" >&2; exit 1; }; \
	for p in $(PACKAGES); do $(PKG_CONFIG) --exists $$p || { case $$p in \
	libevent*) deb=libevent-dev ;; msgpack*) deb="libmsgpack-dev (or libmsgpack-c-dev)" ;; esac; \
	echo "make: the library $$p is missing (Debian package $$deb);" \
	"deploy/install-deps.sh installs it" >&2; exit 1; }; done; }

# The page is a part of the program (gateway/web_page.c).
$(BUILD)/gateway/web_page.o: $(wildcard gateway/web/*) proto/js/aegis.js

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)

# --- tests, fuzz targets, benchmarks: linked with every room but the doors ---------------------------

$(BUILD)/tests/%.o: MORE_CFLAGS = $(TEST_CFLAGS)
$(BUILD)/tests/bench/%.o $(BUILD)/tests/fuzz/%.o: MORE_CFLAGS =

# Aids that several programs share; each program takes what it needs, and tests/leak.o in any case,
# which only the sanitizer asks for.
$(BUILD)/libtests.a: $(call obj,$(filter-out tests/leak.c,$(src_test))) $(BUILD)/.sources
	$(call archive)

define test_program
$(BUILD)/tests/$(1)_test: $(call obj,$(wildcard tests/$(1)/*.c) tests/leak.c) \
                          $(BUILD)/libtests.a $(ALL_LIBS) $(BUILD)/.sources
	$$(call link,,$$(TEST_LIBS))
endef
$(foreach r,$(TEST_ROOMS),$(eval $(call test_program,$(r))))

$(FUZZ_PROGRAMS): $(BUILD)/fuzz/%: $(BUILD)/tests/fuzz/%.o $(call obj,$(src_fuzz_aid)) $(ALL_LIBS) \
                                  $(BUILD)/.sources
	$(call link,$(if $(FUZZER),-fsanitize=fuzzer))

$(BIN)/bench: $(call obj,$(src_bench)) $(ALL_LIBS) $(BUILD)/.sources $(BIN)/.from \
              | $(BIN)/aegis $(LIMIT_PROGRAMS)
	$(call link)

# Programs of their own: what they are measured for is a process.
$(LIMIT_PROGRAMS): $(BIN)/limit/%: $(BUILD)/tests/bench/limit/%.o $(call obj,$(src_limit)) $(BIN)/.from
	$(call link)

.PHONY: test-programs
test-programs: all $(BIN)/bench $(TEST_PROGRAMS) $(FUZZ_PROGRAMS)

# --- what people call ------------------------------------------------------------------------------

INSTALL_DEPS := sh deploy/install-deps.sh
again = $(MAKE) --no-print-directory $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(JOBS))

.PHONY: run _run
run:  ## start a world, a gateway and 30 wandering bots; Ctrl-C ends all of it
	@$(INSTALL_DEPS) build
	+@$(again) _run
_run: all
	@exec sh deploy/run.sh $(BIN) $(BUILD)/run

.PHONY: smoke _smoke
smoke:  ## start a pair on free ports, let the bot play the smoke scenario, end the pair
	@$(INSTALL_DEPS) build
	+@$(again) _smoke
_smoke: all
	@exec sh tests/run-smoke.sh $(BIN) $(BUILD)/smoke

.PHONY: cluster _cluster
cluster:  ## NATS, PostgreSQL, 4 worlds, 2 gateways: smoke, and bots that cross borders; all of it ends
	@$(INSTALL_DEPS) cluster
	+@$(again) _cluster
_cluster: all
	@exec python3 deploy/cluster.py $(BIN) $(BUILD)/cluster

.PHONY: test _test
test:  ## everything that can be checked, under ASan and UBSan; ends with `N passed, N failed`
	@$(INSTALL_DEPS) test
	+@$(again) SAN=1 _test
_test: test-programs
	@TEST_PROGRAMS="$(TEST_PROGRAMS)" FUZZ_PROGRAMS="$(FUZZ_PROGRAMS)" FUZZ_RUNS=$(FUZZ_RUNS) \
	 exec sh tests/run.sh $(BIN) $(BUILD)

.PHONY: sim _sim
sim:  ## simulated clusters under every fault, SIM_SEEDS (5000) of them, from SIM_FROM (1) on
	@$(INSTALL_DEPS) test
	+@$(again) _sim
_sim: $(BUILD)/tests/sim_test
	@SIM_SEEDS=$(SIM_SEEDS) SIM_FROM=$(SIM_FROM) $(BUILD)/tests/sim_test

.PHONY: test-js _test_js
test-js:  ## the JavaScript client against the golden vectors and a running world (Node, npm)
	@$(INSTALL_DEPS) build js
	+@$(again) _test_js
_test_js: all
	@AEGIS_BIN=$(abspath $(BIN)) exec sh tests/run-js.sh $(BUILD)

.PHONY: test-web _test_web
test-web:  ## the pages in a browser: Debian's chromium without a screen (npm's playwright-core)
	@$(INSTALL_DEPS) build js web
	+@$(again) _test_web
_test_web: all
	@AEGIS_BIN=$(abspath $(BIN)) exec sh tests/run-web.sh $(BUILD) $(WEB_TESTS)

.PHONY: test-py _test_py
test-py:  ## the Python client against the golden vectors and a running world (part of make test)
	@$(INSTALL_DEPS) test
	+@$(again) _test_py
_test_py: all
	@AEGIS_BIN=$(abspath $(BIN)) exec sh tests/run-py.sh

.PHONY: bench _bench
bench:  ## run every benchmark once, short (bin/bench NAME -help for one of them)
	@$(INSTALL_DEPS) build
	+@$(again) _bench
_bench: all $(BIN)/bench
	@exec $(BIN)/bench

.PHONY: bench-growth _bench_growth
bench-growth:  ## how a tick grows, as JSON and SVG (GROWTH=build/.../growth, GROWTH_RUNS=5)
	@$(INSTALL_DEPS) build
	+@$(again) _bench_growth
_bench_growth: $(BIN)/bench
	@python3 tests/bench/plot.py --bench $(abspath $(BIN))/bench --out $(GROWTH) --runs $(GROWTH_RUNS)

.PHONY: bench-load _bench_load
bench-load:  ## world, gateway and bots at 1,000, 2,500 and 5,000 players, beside the least that could
	@$(INSTALL_DEPS) build
	+@$(again) _bench_load
_bench_load: all $(BIN)/bench
	@exec $(BIN)/bench load

.PHONY: fuzz _fuzz
fuzz:  ## fuzz every target for FUZZ_SECONDS (60) each: libFuzzer where clang has it
	@$(INSTALL_DEPS) build
	+@if sh tests/run-fuzz.sh probe; then $(again) CC=clang SAN=1 FUZZER=1 _fuzz; \
	  else $(again) SAN=1 _fuzz; fi
_fuzz: $(FUZZ_PROGRAMS)
	@FUZZ_PROGRAMS="$(FUZZ_PROGRAMS)" FUZZ_SECONDS=$(FUZZ_SECONDS) \
	 exec sh tests/run-fuzz.sh $(if $(FUZZER),libfuzzer,alone) $(BUILD)

.PHONY: torture _torture_frames _torture_crowds
torture:  ## live pairs under damaged frames (TORTURE_FRAMES=1000000), deaf clients, floods and kills
	@$(INSTALL_DEPS) test
	+@$(again) SAN=1 _torture_frames
	+@$(again) _torture_crowds
_torture_frames: all $(BUILD)/tests/e2e_test
	@TORTURE_FRAMES=$(TORTURE_FRAMES) sh tests/e2e/torture.sh frames $(abspath $(BIN)) $(BUILD)
_torture_crowds: all $(BUILD)/tests/e2e_test
	@sh tests/e2e/torture.sh crowds $(abspath $(BIN)) $(BUILD)

.PHONY: check-includes
check-includes:  ## who may include what (the .may_include files), and no cycles
	@sh tests/lint/check-includes.sh

.PHONY: lint
lint:  ## format, cppcheck, lengths, names, heads of files, scripts
	@sh tests/lint/lint.sh

.PHONY: format
format:  ## bring all C into the form of .clang-format
	clang-format -i $(C_FILES)

.PHONY: docs
docs: all  ## write the programs' flags into README.md and the man pages
	@sh tests/lint/docs.sh write $(BIN)

# --- installing ------------------------------------------------------------------------------------

MAPS      := town.json wild.json tiles.json tiles.png
INSTALLED := bin/aegis bin/aegis-bot share/man/man8/aegis.8 share/man/man1/aegis-bot.1 \
             share/doc/aegis/README.md share/doc/aegis/PROTOCOL.md share/doc/aegis/LICENSE \
             $(addprefix share/aegis/maps/,$(MAPS))
into = $(DESTDIR)$(PREFIX)/$(1)

.PHONY: install
install: all  ## install programs, man pages and papers (PREFIX=/usr/local, DESTDIR=)
	install -d $(sort $(dir $(INSTALLED:%=$(call into,%))))
	install -m 755 $(BIN)/aegis $(call into,bin/aegis)
	install -m 755 $(BIN)/bot $(call into,bin/aegis-bot)
	install -m 644 deploy/man/aegis.8 $(call into,share/man/man8/aegis.8)
	install -m 644 deploy/man/aegis-bot.1 $(call into,share/man/man1/aegis-bot.1)
	install -m 644 README.md proto/PROTOCOL.md LICENSE $(call into,share/doc/aegis/)
	install -m 644 $(addprefix deploy/maps/,$(MAPS)) $(call into,share/aegis/maps/)

.PHONY: uninstall
uninstall:  ## remove what install put there
	rm -f $(INSTALLED:%=$(call into,%))
	-rmdir $(call into,share/doc/aegis) $(call into,share/aegis/maps) $(call into,share/aegis)

.PHONY: clean
clean:  ## remove everything that was built
	rm -rf build bin

.PHONY: help
help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' Makefile
	@echo
	@sed -n '/^#   /s/^#//p; /^$$/q' Makefile
