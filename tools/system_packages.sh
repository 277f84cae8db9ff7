#!/bin/bash
# system_packages.sh PACKAGE...: installs the Debian packages that are missing;
# does nothing if none is.
set -euo pipefail

have() {
  case $1 in
    # These are often installed by other means than a package.
    g++) command -v "${CXX:-g++}" ;;
    openssl) command -v openssl ;;
    kubernetes-client) command -v kubectl ;;
    libgtest-dev) [[ -e /usr/include/gtest/gtest.h ]] || dpkg -s "$1" ;;
    *) dpkg -s "$1" ;;
  esac &>/dev/null
}

missing=()
for package in "$@"; do
  have "$package" || missing+=("$package")
done
((${#missing[@]})) || exit 0

as_root=()
((EUID == 0)) || as_root=(sudo)
if ! command -v apt-get >/dev/null ||
  { ((EUID != 0)) && ! command -v sudo >/dev/null; }; then
  echo "Please install these first (named as in Debian): ${missing[*]}" >&2
  exit 1
fi

# Tests start the programs themselves, so no daemon of a package should start now.
policy=/usr/sbin/policy-rc.d
if [[ ! -e $policy ]]; then
  printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
  trap '"${as_root[@]}" rm -f "$policy"' EXIT
  "${as_root[@]}" chmod 755 "$policy"
fi

echo "Installing with apt-get: ${missing[*]}"
"${as_root[@]}" apt-get -qq update
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get -qq install --yes --no-install-recommends "${missing[@]}" >/dev/null
