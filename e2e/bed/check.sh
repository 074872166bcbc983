#!/usr/bin/env bash
# What can be said about the tree without running it. Stops at the first thing that is wrong.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=versions.env
. e2e/bed/versions.env
cache=${TENANTRY_BED_CACHE:-$HOME/.cache/tenantry-bed}

step() { # WHAT COMMAND...: quiet unless it fails
  local what=$1 start=$SECONDS log
  shift
  log=$(mktemp)
  if ! "$@" >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    echo "check: $what: failed" >&2
    exit 1
  fi
  rm -f "$log"
  printf '  %-44s %4d s\n' "$what" $((SECONDS - start)) >&2
}

# Resolver features are unified over a workspace; alone, a crate shows what it forgot to ask for.
each_crate_alone() {
  local crates crate
  crates=$(cargo metadata --no-deps --format-version 1 |
    python3 -c 'import json, sys; print(*(p["name"] for p in json.load(sys.stdin)["packages"]))')
  for crate in $crates; do
    echo "== $crate"
    cargo check --quiet -p "$crate"
  done
}

# It reads the manifests of every platform's packages, and a build fetches those of this platform alone. Offline, because its
# database of advisories is not asked.
licences() {
  cargo fetch --locked && "$cache/cargo-deny-$CARGO_DENY/cargo-deny" --offline check bans licenses sources
}

# A file that no `mod` names is not compiled, and its tests are silently not run. The formatter walks the modules as the compiler does.
every_file_is_a_module() {
  local strays
  strays=$(comm -23 <(git ls-files '*.rs' | sed "s#^#$PWD/#" | sort) \
    <(cargo fmt --all -- --check --verbose | sed -n 's/^Formatting //p' | xargs -d '\n' realpath | sort -u))
  if [ -n "$strays" ]; then
    echo "$strays"
    echo "no module names the files above"
    return 1
  fi
}

domain_is_pure() {
  local tree
  tree=$(cargo tree -p domain -e normal --prefix none)
  if grep -E '^(tokio|hyper|kube|axum|rustls|reqwest)([- ]|$)' <<<"$tree"; then
    echo "domain must not depend on anything with IO: the lines above"
    return 1
  fi
}

documentation() { RUSTDOCFLAGS="-D warnings" cargo doc --quiet --workspace --no-deps; }

step "format" cargo fmt --all --check
step "every file is a module" every_file_is_a_module
step "lints" cargo clippy --quiet --workspace --all-targets --features tenantry/failpoints -- -D warnings
step "each crate alone" each_crate_alone
step "domain depends on nothing with IO" domain_is_pure
step "documentation" documentation
step "licences, bans, sources" licences
