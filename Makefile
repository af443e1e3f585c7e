# The door. Every line is one call into `cargo xtask`, which `cargo xtask help` describes.
.PHONY: build dist docs demo test test-long mutants check bench bench-compare fuzz-smoke sim-night pictures

build:
	cargo xtask build

# One stripped binary with its manual pages, completions, bill of materials, checksums and Debian package: target/dist.
dist:
	cargo xtask dist

# The documentation as a site with a search: target/docs-site.
docs:
	cargo xtask docs

demo:
	cargo xtask demo

test:
	cargo xtask test

test-long:
	cargo xtask test-long

mutants:
	cargo xtask mutants

# `make sim-night MINUTES=N`: four hours unless it is said.
sim-night:
	cargo xtask sim-night $(if $(MINUTES),--minutes $(MINUTES))

check:
	cargo xtask check

bench:
	cargo xtask bench

fuzz-smoke:
	cargo xtask fuzz --seconds 60

# The pictures of the README, made anew from a demo.
pictures:
	cargo xtask pictures

# `make bench-compare OLD NEW`: two runs kept by `bench`, such as copies of target/bench/latest.json.
bench-compare:
	cargo xtask bench compare $(RUNS)

ifeq (bench-compare,$(firstword $(MAKECMDGOALS)))
RUNS := $(wordlist 2,3,$(MAKECMDGOALS))
.PHONY: $(RUNS)
$(RUNS):
	@:
endif
