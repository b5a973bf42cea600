# Aegis: build, tests and tools. `make help` says what each target does.
#
#   SAN=1        AddressSanitizer and UndefinedBehaviorSanitizer
#   CC=clang     another compiler (its objects have a folder of their own)
#   EXTRA=...    more compiler flags, such as EXTRA=-march=native
#   BUILD=, BIN= where objects and programs go

CC     := $(if $(filter default,$(origin CC)),gcc,$(CC))
BIN    ?= bin
BUILD  ?= build/$(notdir $(firstword $(CC)))$(if $(SAN),-san)
PREFIX ?= /usr/local

VERSION := 0.1.0

PKG_CONFIG ?= pkg-config
MSGPACK    := $(shell $(PKG_CONFIG) --exists msgpack-c 2>/dev/null && echo msgpack-c || echo msgpack)
PACKAGES   := libevent_core libevent_extra $(MSGPACK)
PKG_CFLAGS := $(shell $(PKG_CONFIG) --cflags $(PACKAGES) 2>/dev/null)
PKG_LIBS   := $(shell $(PKG_CONFIG) --libs $(PACKAGES) 2>/dev/null)

WARN  := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla -Werror
CHECK := $(if $(SAN),-O1 -fsanitize=address,-O2 -D_FORTIFY_SOURCE=2)
CHECK += $(if $(SAN),-fsanitize=undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
HARD  := -fstack-protector-strong -fPIE
LINK  := -pie -Wl,-z,relro,-z,now -Wl,-z,noexecstack

CFLAGS_ALL  := -std=c11 -D_GNU_SOURCE -g $(CHECK) $(HARD) $(WARN) -ffp-contract=off \
               -DAEGIS_VERSION='"$(VERSION)"' -I. $(PKG_CFLAGS) $(EXTRA)
LDFLAGS_ALL := $(LINK) $(if $(SAN),-fsanitize=address -fsanitize=undefined)
LIBS        := $(PKG_LIBS) -lm

ROOMS       := common proto gateway world bot
src_common  := $(wildcard common/*.c common/io/*.c)
src_proto   := $(wildcard proto/*.c)
src_gateway := $(wildcard gateway/*.c)
src_world   := $(wildcard world/*.c world/*/*.c)
src_bot     := $(filter-out bot/main.c,$(wildcard bot/*.c))

obj = $(patsubst %.c,$(BUILD)/%.o,$(1))
lib = $(patsubst %,$(BUILD)/lib%.a,$(1))

.PHONY: all
all: $(BIN)/aegis $(BIN)/bot

# --- programs ------------------------------------------------------------------------------------

$(BIN)/aegis: $(BUILD)/aegis.o $(call lib,gateway world proto common)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LIBS)

$(BIN)/bot: $(BUILD)/bot/main.o $(call lib,bot proto common)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LIBS)

define room_archive
$(BUILD)/lib$(1).a: $(call obj,$(src_$(1)))
	@mkdir -p $$(@D)
	@rm -f $$@
	ar rcs $$@ $$^
endef
$(foreach r,$(ROOMS),$(eval $(call room_archive,$(r))))

$(BUILD)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -MMD -MP -c -o $@ $<

# Changed flags make everything anew.
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(CC) $(subst ','\'',$(CFLAGS_ALL)) $(LDFLAGS_ALL)' | cmp -s - $@ || \
	 echo '$(CC) $(subst ','\'',$(CFLAGS_ALL)) $(LDFLAGS_ALL)' > $@
.PHONY: FORCE
FORCE:

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)

# --- unit tests ----------------------------------------------------------------------------------
# One program for each folder of tests, linked with every room but the doors.

TEST_ROOMS   := common proto gateway world bot e2e
CRIT_CFLAGS   = $(shell $(PKG_CONFIG) --cflags criterion)
CRIT_LIBS     = $(shell $(PKG_CONFIG) --libs criterion)
test_helpers := $(wildcard tests/*.c)

define test_program
$(BUILD)/tests/$(1)_test: $(call obj,$(wildcard tests/$(1)/*.c) $(test_helpers)) \
                          $(call lib,bot gateway world proto common)
	@mkdir -p $$(@D)
	$$(CC) $$(LDFLAGS_ALL) -o $$@ $$^ $$(CRIT_LIBS) $$(LIBS)
endef
$(foreach r,$(TEST_ROOMS),$(eval $(call test_program,$(r))))
TEST_PROGRAMS := $(foreach r,$(TEST_ROOMS),$(if $(wildcard tests/$(r)/*.c),$(BUILD)/tests/$(r)_test))

.PHONY: test-programs
test-programs: all $(TEST_PROGRAMS)

.PHONY: clean
clean:
	rm -rf build bin
