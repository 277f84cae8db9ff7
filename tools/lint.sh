#!/bin/bash
# lint.sh check|fix [FOLDER]: checks the style of all sources, or fixes what the
# tools can fix. FOLDER (default: .venv/bin) holds clang-format, ruff and pytest.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
mode=$1 bin=${2:-.venv/bin}

mapfile -t cxx < <(find cc tests benchmarks -name '*.h' -o -name '*.cc' | sort)
mapfile -t starlark < <(find . -name '.*' ! -name . -prune -o \
  \( -name BUILD -o -name WORKSPACE -o -name '*.bzl' \) -type f -print | sort)

buildifier=()
if command -v buildifier >/dev/null; then
  buildifier=(buildifier)
elif command -v npx >/dev/null; then
  npm=(npx --yes @bazel/buildifier@8.2.1)
  if "${npm[@]}" --version &>/dev/null; then buildifier=("${npm[@]}"); fi
fi

# Debian's Bazel has these rules built in, and has no rules_python to load.
warnings=-native-cc-binary,-native-cc-library,-native-cc-test,-native-py

case $mode in
  check)
    "$bin/clang-format" --dry-run -Werror "${cxx[@]}"
    "$bin/ruff" check
    "$bin/ruff" format --check
    # What the oldest Python lacks; ruff does not know the standard library's names.
    "$bin/vermin" --quiet --no-tips --violations --eval-annotations --target=3.9- \
      persia_tf setup.py
    if ((${#buildifier[@]})); then
      "${buildifier[@]}" -mode=check -lint=warn -warnings="$warnings" \
        "${starlark[@]}"
    else
      echo "lint: buildifier is skipped: there is none, nor an npx to get it with"
    fi
    "$bin/pytest" -q tests/layering_test.py
    ;;
  fix)
    "$bin/clang-format" -i "${cxx[@]}"
    "$bin/ruff" check --fix
    "$bin/ruff" format
    if ((${#buildifier[@]})); then
      "${buildifier[@]}" -mode=fix -lint=fix -warnings="$warnings" "${starlark[@]}"
    fi
    ;;
  *)
    echo "lint.sh: the mode is check or fix, not '$mode'" >&2
    exit 2
    ;;
esac
