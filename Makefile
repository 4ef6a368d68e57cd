# A thin front to CMake: every goal works as the only command on a fresh Debian 12 machine.
# The builds live in build/<preset>; see CMakePresets.json.

# Jobs of a build (or of clang-tidy and the fuzzers) at a time; each may need most of a gigabyte.
JOBS ?= $(shell n=$$(nproc); echo $$((n < 8 ? n : 8)))
export JOBS
BOOTSTRAP = scripts/bootstrap
CONFIGURE = cmake --log-level=WARNING --preset
BUILD = cmake --build -j $(JOBS) --preset
# The rooms that read what strangers write. (What kills leave behind is read a thousand times over in other builds.)
DECODERS = base formats data commit log onnx bundle verify
# Seconds each fuzz target runs.
FUZZ_SECONDS ?= 60

.DEFAULT_GOAL := help
.PHONY: help demo test cross slow bench fuzz sanitize sanitize-decoders format tidy clean release

help: ## list the goals
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | \
	  while IFS="$$(printf '\t')" read -r goal text; do printf '  make %-18s %s\n' "$$goal" "$$text"; done

demo: ## install what is missing, build, and show the whole story in about a minute
	@$(BOOTSTRAP) build
	@$(CONFIGURE) demo >/dev/null
	@$(BUILD) demo
	@scripts/demo build/release

release:
	@$(BOOTSTRAP) build test
	@$(CONFIGURE) release >/dev/null
	@$(BUILD) release

test: release ## install what is missing, build, run the fast tests (none takes a minute)
	@scripts/run_tests build/release -L fast

cross: release ## train on every machine that can be run or emulated here and compare the states (some minutes)
	@$(BOOTSTRAP) cross
	@scripts/run_tests build/release -L cross

slow: release ## the slow tests: whole runs under emulation, exhaustive proofs (hours)
	@scripts/run_tests build/release -L slow

bench: ## benchmarks against current libraries, which are installed into build/libraries; hours, of a machine that does nothing else
	@$(BOOTSTRAP) build bench
	@scripts/bench/libraries build/libraries
	@$(CONFIGURE) bench -DISOBIT_BENCH_LIBRARIES=$(CURDIR)/build/libraries >/dev/null
	@$(BUILD) bench
	@scripts/bench/run build/libraries

fuzz: ## libFuzzer on every decoder, FUZZ_SECONDS each (60)
	@$(BOOTSTRAP) build test clang
	@$(CONFIGURE) asan-decoders >/dev/null
	@scripts/run_fuzz build/asan-decoders $(FUZZ_SECONDS)

sanitize: ## the fast tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@$(BOOTSTRAP) build test clang
	@$(CONFIGURE) asan >/dev/null
	@$(BUILD) asan
	@scripts/run_tests build/asan -L fast -E '^style'

sanitize-decoders: ## the same for the rooms that decode what strangers write
	@$(BOOTSTRAP) build test clang
	@$(CONFIGURE) asan-decoders >/dev/null
	@$(BUILD) asan-decoders --target $(DECODERS:%=isobit/%/all)
	@scripts/run_tests build/asan-decoders -L fast -L '^($(subst $() ,|,$(DECODERS)))$$' -E '^(bundle_kill|onnx_export)'

format: ## rewrite the sources as .clang-format says
	@$(BOOTSTRAP) lint
	@scripts/format --fix

tidy: ## clang-tidy over the sources
	@$(BOOTSTRAP) build test clang lint
	@$(CONFIGURE) clang >/dev/null
	@scripts/tidy build/clang

clean: ## remove every build
	rm -rf build
