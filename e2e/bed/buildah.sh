#!/usr/bin/env bash
# buildah.sh CONTAINERFILE CONTEXT NAME ARCHIVE: builds an image without a daemon and writes it as an OCI archive.
set -euo pipefail
# shellcheck source=versions.env
. "$(dirname "$0")/versions.env"
containerfile=$1 context=$2 name=$3 archive=$4
node=${TENANTRY_BED_CACHE:-$HOME/.cache/tenantry-bed}/node-runtime-$NODE_RUNTIME
if ! command -v buildah >/dev/null; then
  [ -x "$node/usr/bin/buildah" ] || {
    echo "image: no buildah: install it, or run e2e/bed/install.sh node" >&2
    exit 1
  }
  PATH=$node/usr/bin:$PATH
  export LD_LIBRARY_PATH=$node/usr/lib/x86_64-linux-gnu
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Nothing is pulled, so nothing needs to be trusted; nothing is run, so nothing needs isolation.
echo '{"default": [{"type": "insecureAcceptAnything"}]}' >"$work/policy.json"
printf '[storage]\ndriver = "vfs"\nrunroot = "%s/run"\ngraphroot = "%s/graph"\n' "$work" "$work" >"$work/storage.conf"
export CONTAINERS_STORAGE_CONF=$work/storage.conf
rm -f "$archive"
buildah --root "$work/graph" --runroot "$work/run" --storage-driver vfs bud --quiet --isolation chroot --format oci \
  --signature-policy "$work/policy.json" --tag "$name" --file "$containerfile" "$context" >"$work/log" 2>&1 &&
  buildah --root "$work/graph" --runroot "$work/run" --storage-driver vfs push --quiet \
    --signature-policy "$work/policy.json" "$name" "oci-archive:$archive:$name" >>"$work/log" 2>&1 || {
  cat "$work/log" >&2
  exit 1
}
