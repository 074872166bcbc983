#!/usr/bin/env bash
# Builds Tenantry's image: the static release program, then the Containerfile over it, into an OCI archive.
#   image.sh [ARCHIVE]     default: target/image/tenantry.tar, named as the chart names it by default
# Needs buildah: that of the PATH, else the one that install.sh keeps for a node.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=versions.env
. e2e/bed/versions.env
target=${CARGO_TARGET_DIR:-target}
archive=$(realpath -m "${1:-$target/image/tenantry.tar}")
# The musl target needs a standard library that not every toolchain has; glibc links as statically, and since 2.34 resolves
# names without loading a library. The explicit --target keeps proc macros out of it.
triple=x86_64-unknown-linux-gnu
version=$(sed -n 's/^appVersion: *//p' charts/tenantry/Chart.yaml)
repository=$(sed -n '/^image:/,/^[^ #]/s/^  repository: *//p' charts/tenantry/values.yaml)

RUSTFLAGS="${RUSTFLAGS:-} -C target-feature=+crt-static" cargo build --quiet --release --package tenantry --bin tenantry --target "$triple"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/context" "$(dirname "$archive")" 2>/dev/null || true
install -m 755 "$target/$triple/release/tenantry" "$work/context/tenantry"
if readelf --program-headers "$work/context/tenantry" | grep -q INTERP; then
  echo "image: the program is not static" >&2
  exit 1
fi
install -m 755 "${TENANTRY_BED_CACHE:-$HOME/.cache/tenantry-bed}/helm-$HELM/helm" "$work/context/helm"
install -m 644 /etc/ssl/certs/ca-certificates.crt "$work/context/"
e2e/bed/buildah.sh Containerfile "$work/context" "$repository:$version" "$archive"
echo "$archive"
