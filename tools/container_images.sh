#!/bin/bash
# container_images.sh [server] [trainer]: builds the container images of deploy/docker
# (default: both) from the wheel in build/wheel.
#
# BASE is the image to build from, such as debian:bookworm-slim of a registry. Without
# BASE, it is made from Debian's packages, once. PODMAN is the program that builds
# (default: podman); docker can build too. Inside a build, pip uses the index and the
# certificates that it uses outside.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly made_base=localhost/debian-base:bookworm
podman=${PODMAN:-podman}
[[ -n ${PODMAN:-} ]] || tools/system_packages.sh podman
images=("$@")
((${#images[@]})) || images=(server trainer)
version=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' persia_tf/_version.py)

make_base() {
  "$podman" image inspect "$made_base" &>/dev/null && return
  tools/system_packages.sh mmdebstrap
  mmdebstrap --quiet --variant=minbase \
    --dpkgopt='path-exclude=/usr/share/doc/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' \
    --dpkgopt='path-exclude=/usr/share/man/*' \
    bookworm - |
    "$podman" import - "$made_base" >/dev/null
}

# Prints pip's setting of a name, from its environment or its files.
pip_setting() {
  local place
  for place in :env: global install; do
    python3 -m pip config get "$place.$1" 2>/dev/null && return
  done
  return 0
}

# Writes settings for pip inside a build, and adds the secrets to `secrets`.
share_pip_settings() {
  local index authority
  index=$(pip_setting index-url)
  authority=$(pip_setting cert)
  {
    echo "[global]"
    [[ -z $index ]] || echo "index-url = $index"
    [[ -z $authority ]] || echo "cert = /run/secrets/ca.pem"
  } >"$settings"
  secrets=(--secret "id=pip.conf,src=$settings")
  [[ -z $authority ]] || secrets+=(--secret "id=ca.pem,src=$authority")
}

if [[ -z ${BASE:-} ]]; then
  make_base
  BASE=$made_base
fi
settings=$(mktemp)
trap 'rm -f "$settings"' EXIT
share_pip_settings
for image in "${images[@]}"; do
  start=$SECONDS
  log=build/image-$image.log
  "$podman" build --network=host "${secrets[@]}" \
    --build-arg "BASE=$BASE" --build-arg "VERSION=$version" \
    --file "deploy/docker/Dockerfile.$image" \
    --tag "persia-tf-$image:$version" . &>"$log" || {
    tail -n 40 "$log" >&2
    exit 1
  }
  bytes=$("$podman" image inspect --format '{{.Size}}' "persia-tf-$image:$version")
  echo "persia-tf-$image:$version: $((bytes / 1000000)) MB, $((SECONDS - start)) s"
done
