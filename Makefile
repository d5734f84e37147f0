# The verbs. Meson does the building; what a verb does beyond one command lies in tools/.
.DEFAULT_GOAL := help
.PHONY: help deps build demo test test-full bench fuzz install wheel
MAKEFLAGS += --no-print-directory

PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
MESON_FLAGS := $(if $(CI),-Dwerror=true)
VENV := build/venv

help:
	@echo 'make VERB, where VERB is one of'
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/    \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

deps: ## install what is missing (apt-get, with sudo unless root) and say what
	@tools/deps.sh

build: build/build.ninja ## build/cairn and build/python/cairn
	@! tools/abis.py build --changed 2>/dev/null || meson setup --reconfigure build
	@meson compile -C build

build/build.ninja:
	@meson setup build $(MESON_FLAGS)

demo: deps build $(VENV)/ready ## profile a small program and show where its time goes
	@tools/demo.sh

test: deps build $(VENV)/ready ## every test but the heavy ones
	@tools/test.sh

test-full: deps build $(VENV)/ready ## and the heavy ones: PyTorch, valgrind, TSan, Go's pprof
	@CAIRN_FULL=1 tools/test.sh

bench: deps build $(VENV)/ready ## Cairn beside its peers, into bench/results/
	@$(VENV)/bin/python bench/run.py

fuzz: deps ## every libFuzzer target for FUZZ_SECONDS=60
	@FUZZ_SECONDS=$(FUZZ_SECONDS) tools/fuzz.sh

wheel: build ## into dist/: the command, and a module for each CPython that is found
	@/usr/bin/python3 tools/backend.py dist build

install: build ## into PREFIX=/usr/local (DESTDIR= is heeded)
	@meson configure build -Dprefix=$(abspath $(PREFIX))
	@meson install -C build --quiet

# The system's Python, whatever else PATH has in front: it is the one that Debian always has.
$(VENV)/ready: tests/requirements.txt tests/programs.txt
	@/usr/bin/python3 -m venv $(VENV)
	@$(VENV)/bin/python -m pip install -qq --disable-pip-version-check -r $<
	@touch $@
