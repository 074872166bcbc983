#!/usr/bin/env bash
# Shows the main job (demo-story.sh) on a test bed of its own, with Tenantry as pods where a node can run; stops the bed at
# the end in any case.
# Env: PG (PostgreSQL major, default 15)
set -euo pipefail
cd "$(dirname "$0")/../.."
bed=${CARGO_TARGET_DIR:-target}/debug/bed
cleanup() { "$bed" --name demo down 2>/dev/null || true; }
trap cleanup EXIT
trap 'exit 130' INT TERM

# As the tests build it, so that neither build undoes the other.
cargo build --quiet --workspace --bins --features tenantry/failpoints
cleanup
if reason=$(e2e/bed/node.sh possible); then
  archive=$(e2e/bed/image.sh)
  "$bed" --name demo up --node >/dev/null
  "$bed" --name demo image "$archive"
  "$bed" --name demo in e2e/bed/demo-story.sh pods
else
  echo "Tenantry runs beside the cluster and not in pods: $reason" >&2
  exports=$("$bed" --name demo up)
  eval "$exports"
  exports=$("$bed" --name demo tenantry)
  eval "$exports"
  e2e/bed/demo-story.sh process
fi
