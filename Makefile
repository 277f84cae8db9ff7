# make demo    trains on MovieLens with two parameter servers
# make test    builds, and runs the tests
# Each target sets up all that it needs. The others are for developers.

PYTHON ?= python3
VENV := .venv
OLDEST := .venv-oldest
OLDEST_KERAS := .venv/keras-3.10
DOCS := .venv-docs
# The tests that run with both Keras 3, and tf_keras if TF_USE_LEGACY_KERAS is set.
BOTH_KERAS ?= $(addprefix tests/,compatibility conversion data distribute layers \
  model_server/exports_test.py ops/placement_test.py planning/own_step_test.py \
  serving/export_test.py serving/movielens_test.py serving/remote_test.py \
  serving/tf_example_test.py)
# The tests that may depend on TensorFlow's version. For several workers,
# tests/compatibility has them.
OF_TENSORFLOW := tests/checkpoint tests/compatibility tests/conversion tests/data \
  tests/examples tests/layers tests/model_server tests/ops tests/serving
# What test-oldest-keras runs.
OF_KERAS := $(patsubst %,tests/layers/%_test.py,beside following_optimizer inputs \
  mixed_precision ragged saving subclassed training) tests/data/prefetch_test.py \
  tests/keras_test.py
# The versions in docs/compatibility.md.
TENSORFLOWS ?= 2.16 2.18 2.21
# One process more than there are cores: tests often wait for other processes. A test
# that hangs ends its process, which then says where each of its threads was.
PYTEST := pytest -q --numprocesses $(shell expr $$(nproc) + 1) --maxprocesses 4 \
  --dist worksteal --durations 40 --durations-min 20 --timeout 900 \
  --timeout-method thread
# Excludes slow tests, except in test-all. SLOW= includes them in any target.
SLOW ?= -m 'not slow'
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check
# A preset of CMakePresets.json and its targets.
NATIVE := $(VENV)/bin/python tools/native_build.py
CTEST := $(VENV)/bin/ctest --preset

# Without the native code, which `make build` builds.
INSTALL_EDITABLE := $(PIP_INSTALL) --no-build-isolation \
  --config-settings wheel.cmake=false

.PHONY: env build demo lint format docs
.PHONY: test test-all test-native test-python test-legacy test-bazel
.PHONY: test-oldest test-oldest-legacy test-oldest-keras $(OLDEST)
.PHONY: sanitize sanitize-store
.PHONY: bench-guard report fuzz mutated-frames kills compiler gtest openssl clang bazel redis
.PHONY: wheel images test-containers compatibility $(TENSORFLOWS:%=beside-tensorflow-%)

demo: build
	$(VENV)/bin/persia launch --ps 2 -- $(VENV)/bin/python examples/movielens/train.py

test: test-native test-python

# Includes slow tests, and tests with tf_keras. Takes about 50 minutes on two cores.
test-all:
	$(MAKE) --no-print-directory test test-legacy SLOW=

test-native: env gtest
	$(NATIVE) release native_tests
	$(CTEST) release

test-python: build $(VENV)/.test gtest
	$(VENV)/bin/$(PYTEST) $(SLOW)

test-legacy: build $(VENV)/.test gtest
	TF_USE_LEGACY_KERAS=1 $(VENV)/bin/$(PYTEST) $(SLOW) $(BOTH_KERAS)

# What depends on Keras most, with the oldest supported Keras 3 in front of the newest.
test-oldest-keras: build $(VENV)/.test $(OLDEST_KERAS)
	PYTHONPATH=$(CURDIR)/$(OLDEST_KERAS) $(VENV)/bin/$(PYTEST) $(SLOW) $(OF_KERAS)

$(OLDEST_KERAS): env
	rm -rf $@
	$(VENV)/bin/python $(PIP_INSTALL) --no-deps --target $@ 'keras==3.10.*'

# Tests the wheel that users get, with the oldest supported TensorFlow.
test-oldest: $(OLDEST)
	$(OLDEST)/bin/$(PYTEST) $(SLOW) $(OF_TENSORFLOW)

# The same with tf_keras.
test-oldest-legacy: $(OLDEST)
	TF_USE_LEGACY_KERAS=1 $(OLDEST)/bin/$(PYTEST) $(SLOW) \
	  $(filter-out tests/distribute,$(BOTH_KERAS))

# Newer versions of pyarrow need NumPy 2, and this TensorFlow needs NumPy 1.
$(OLDEST): wheel
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip --quiet uninstall --yes persia_tf
	$(OLDEST)/bin/python $(PIP_INSTALL) \
	  "$$(echo build/wheel/*.whl)[test]" 'tensorflow==2.16.*' 'pyarrow<21'

wheel: build openssl
	rm -rf build/wheel
	$(VENV)/bin/python -m pip --quiet wheel --no-deps --no-build-isolation \
	  --config-settings cmake.define.CMAKE_COMPILE_WARNING_AS_ERROR=ON \
	  --wheel-dir build/wheel .

# The container images in deploy/docker, built by podman, or by PODMAN=docker.
# IMAGES=server builds one. BASE=debian:bookworm-slim takes Debian from a registry.
IMAGES ?= server trainer
images: wheel
	tools/container_images.sh $(IMAGES)

# Runs the images as pods, with podman and as root. With SLOW= also trains.
test-containers: images $(VENV)/.test
	PERSIA_TEST_CONTAINERS=1 \
	  $(VENV)/bin/pytest -q $(SLOW) tests/deploy/containers_test.py

# Writes docs/compatibility.md: what works with which TensorFlow. Each version takes
# some GB of disk.
compatibility: $(TENSORFLOWS:%=beside-tensorflow-%)
	$(VENV)/bin/python tools/compatibility_table.py $(TENSORFLOWS:%=.venv-tf%)

$(TENSORFLOWS:%=beside-tensorflow-%): beside-tensorflow-%: wheel
	$(PYTHON) -m venv .venv-tf$*
	.venv-tf$*/bin/python -m pip --quiet uninstall --yes persia_tf
	.venv-tf$*/bin/python $(PIP_INSTALL) \
	  "$$(echo build/wheel/*.whl)[test]" 'tensorflow==$*.*'

test-bazel: env $(VENV)/.test gtest bazel
	bazel test --config=offline $(BAZEL_FLAGS) //...

sanitize: env gtest
	$(NATIVE) address
	$(CTEST) address
	$(NATIVE) thread
	$(CTEST) thread

# As CI does: tests the store, the log, and the layers below them.
sanitize-store: env gtest
	$(NATIVE) address store_tests
	$(CTEST) address -L store
	$(NATIVE) thread store_tests
	$(CTEST) thread -L store

# Takes some seconds per target. RUNS=10000000 sets the number of inputs per target,
# TARGET=server selects one target.
fuzz: env clang
	CXX=clang++-$(CLANG) $(VENV)/bin/python tests/fuzz/run.py \
	  $(if $(RUNS),--runs $(RUNS)) $(if $(TARGET),--target $(TARGET))

# Sends N mutated frames to a shard of each kind.
N ?= 20000
mutated-frames: build $(VENV)/.test
	$(NATIVE) address shard_host
	N=$(N) PERSIA_SHARD_HOST=build/native-address/shard_host \
	  $(VENV)/bin/pytest -q tests/faults/mutated_frames_test.py

# Kills a shard KILLS times during training.
KILLS ?= 100
kills: build $(VENV)/.test
	KILLS=$(KILLS) $(VENV)/bin/pytest -q tests/faults/kill_test.py

# Reruns the tables of PERSIA's paper in kind: hours. Once interrupted, it goes on with
# what is left. REPORT: options of the program.
report: build $(VENV)/.test
	$(VENV)/bin/python benchmarks/report.py $(REPORT)

# How fast this checkout is beside an earlier commit. GUARD: options of the program.
bench-guard: env
	$(VENV)/bin/python benchmarks/bench_guard.py $(GUARD)

lint: build $(VENV)/.test $(VENV)/.lint
	tools/lint.sh check $(VENV)/bin

format: $(VENV)/.lint
	tools/lint.sh fix $(VENV)/bin

# Builds the documentation's site in build/site. Parses sources without running them.
docs: $(DOCS)/.installed
	NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build

$(DOCS)/.installed: pyproject.toml tools/requirements.py
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/python tools/requirements.py docs > $(DOCS)/requirements.txt
	$(DOCS)/bin/python $(PIP_INSTALL) -r $(DOCS)/requirements.txt
	touch $@

build: env
	$(NATIVE)

env: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml tools/requirements.py | compiler
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python tools/requirements.py > $(VENV)/build_requirements.txt
	$(VENV)/bin/python $(PIP_INSTALL) -r $(VENV)/build_requirements.txt
	$(VENV)/bin/python $(INSTALL_EDITABLE) -e .
	touch $@

$(VENV)/.%: $(VENV)/.installed
	$(VENV)/bin/python $(INSTALL_EDITABLE) -e '.[$*]'
	touch $@

# Also OpenSSL's headers and static libraries.
compiler:
	@tools/system_packages.sh g++ libssl-dev

# Also the program openssl, with which tests create certificates.
gtest: compiler openssl
	@tools/system_packages.sh libgtest-dev

openssl:
	@tools/system_packages.sh openssl

# Clang with libFuzzer, and llvm for the names of functions in its findings. If there is
# no package of this version: make fuzz CLANG=19.
CLANG ?= 14
clang: compiler
	@tools/system_packages.sh clang-$(CLANG) libclang-rt-$(CLANG)-dev \
	  llvm-$(CLANG)

bazel: compiler
	@tools/system_packages.sh bazel-bootstrap bazel-rules-java \
	  bazel-rules-proto bazel-platforms bazel-skylib

# Redis, with which benchmarks/rows_over_redis.py compares.
redis: compiler
	@tools/system_packages.sh redis-server libhiredis-dev
