# SPDX-License-Identifier: Apache-2.0
# The commands of this repository. `make` alone prints them.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

PYTHON := /usr/bin/python3
BUILD := build/release
WARPLOOM := $(BUILD)/bin/warploom
DEMO := configs/experiments/llama3_405b_16k_h100.yaml
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 20
export CMAKE_BUILD_PARALLEL_LEVEL ?= $(JOBS)

# Larger tables of measured cases, where they lie beside the checkout. Without them those suites are skipped.
ifneq ($(wildcard ../shared/data),)
export WARPLOOM_DATA ?= $(abspath ../shared/data)
endif

.PHONY: help build build-all demo test check-slow sanitize fuzz install-check calibrate records validation-page bench format lint docs clean setup-build setup-test setup-slow

help:  ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup-build:
	@scripts/setup.sh build

setup-test:
	@scripts/setup.sh build test

setup-slow:
	@scripts/setup.sh build test slow

build: setup-build  ## the command and the Python package, in build/release
	@cmake --preset release >/dev/null
	@cmake --build $(BUILD) --target warploom warploom_python

build-all: setup-test
	@cmake --preset release >/dev/null
	@cmake --build $(BUILD)

demo: build  ## predict a training step of Llama 3 405B on 16,384 H100s
	@$(WARPLOOM) run $(DEMO) --out build/demo

test: build-all  ## build everything, run ctest and pytest
	@status=0; \
	ctest --test-dir $(BUILD) --output-on-failure --no-tests=error --no-label-summary -j $(JOBS) || status=1; \
	PYTHONPATH=$(BUILD)/python $(PYTHON) -m pytest -q tests/python || status=1; \
	exit $$status

check-slow: setup-slow lint sanitize fuzz docs install-check  ## lint, sanitizers, fuzzing, documentation, installed program

sanitize: setup-test
	@cmake --preset sanitize >/dev/null
	@cmake --build --preset sanitize
	@ctest --preset sanitize --no-label-summary -j $(JOBS)

fuzz: setup-slow
	@cmake --preset fuzz >/dev/null
	@cmake --build --preset fuzz
	@scripts/fuzz.sh build/fuzz $(FUZZ_SECONDS)

install-check: build
	@scripts/install_check.sh $(BUILD) $(DEMO)

# Tables that calibration reads: those of WARPLOOM_DATA whose kinds have constants. EXCLUDE=set leaves sets, devices or tables out.
CALIBRATION_TABLES = $(wildcard $(foreach table,measured/gemm measured/gemm_fp32_known_kernel measured/gemm_quantized \
  measured/attention measured/mla measured/moe measured/quantize measured/llm_layer_ops measured/memory_bound_fp32 \
  net/collectives training/ground_truth,$(WARPLOOM_DATA)/$(table).csv))

calibrate: build  ## fit every constant to the measured tables, EXCLUDE=set leaves one out
	@test -n "$(CALIBRATION_TABLES)" || { echo "WARPLOOM_DATA must name the folder of the measured tables"; exit 2; }
	@$(WARPLOOM) calibrate $(CALIBRATION_TABLES) --in-place $(foreach set,$(EXCLUDE),--exclude $(set))

records: build  ## score the constants as they are, and record the errors
	@$(WARPLOOM) calibrate $(CALIBRATION_TABLES) --keep-constants --in-place

validation-page: build setup-slow  ## docs/validation.md and its figures, from the measured tables
	@scripts/validation_page.py $(WARPLOOM)
	@scripts/network_page.py $(WARPLOOM)

bench: setup-test  ## build and run the benchmarks; results as JSON in build/bench
	@cmake --preset release >/dev/null
	@cmake --build $(BUILD) --target warploom benches
	@scripts/bench.sh $(BUILD)

format: setup-slow  ## format every C++ file
	@scripts/format.sh

lint: setup-slow build-all  ## clang-format and clang-tidy, warnings are errors
	@scripts/format.sh --check
	@scripts/lint.sh $(BUILD)

docs: setup-slow  ## the documentation as pages in build/docs
	@$(MAKE) -C docs html OUT=$(abspath build/docs)

clean:  ## remove build/
	@rm -rf build
