# The door. Every line is one call into `cargo xtask`, which `cargo xtask help` describes.
.PHONY: build demo test test-long check bench

build:
	cargo xtask build

demo:
	cargo xtask demo

test:
	cargo xtask test

test-long:
	cargo xtask test-long

check:
	cargo xtask check

bench:
	cargo xtask bench
