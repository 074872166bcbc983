#!/usr/bin/env bash
# Makes a fresh machine ready: says which tools are missing, installs the client of PostgreSQL where it may, then puts
# the test bed's binaries into the cache (install.sh). Quick when nothing is missing.
# Env: PG (PostgreSQL major, default 15), TENANTRY_BED_CACHE
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

missing=0
need() { # COMMAND WHAT-FOR
  command -v "$1" >/dev/null && return
  echo "setup: $1 is missing (needed for $2)" >&2
  missing=1
}
need cargo "Tenantry and its tests: Rust 1.89 or later"
need cc "the linker of Rust"
need go "the Kubernetes, etcd, helm and External Secrets Operator binaries"
need python3 "packages from PyPI"
need node "packages from npm"
need npm "packages from npm"
[ "$missing" = 0 ] || exit 1
python3 -m pip --version >/dev/null 2>&1 || { echo "setup: python3 has no pip (needed for packages from PyPI)" >&2; exit 1; }

if ! command -v psql >/dev/null; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "  postgresql-client: installing the Debian package" >&2
    log=$(mktemp)
    export DEBIAN_FRONTEND=noninteractive
    { apt-get update -q && apt-get install -q -y --no-install-recommends postgresql-client; } >"$log" 2>&1 || {
      tail -n 20 "$log" >&2
      exit 1
    }
    rm -f "$log"
  else
    echo "setup: psql is missing: install Debian's postgresql-client (apt-get install postgresql-client, as root)" >&2
    exit 1
  fi
fi
exec "$here/install.sh"
