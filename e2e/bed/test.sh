#!/usr/bin/env bash
# Builds Tenantry with its failpoints, starts a test bed of its own, runs every test of the workspace, stops the bed in
# any case. The closing line counts what ran.
# Env: PG (PostgreSQL major, default 15)
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=versions.env
. e2e/bed/versions.env
PATH=${TENANTRY_BED_CACHE:-$HOME/.cache/tenantry-bed}/cargo-nextest-$NEXTEST:$PATH
# One set of features for all builds, or the tests would replace the binary by one without failpoints.
features=(--features tenantry/failpoints)
# Beside the bed of `make bed`, and beside that of another clone.
name=test-$(pwd | cksum | cut -d ' ' -f 1)
target=${CARGO_TARGET_DIR:-target}
bed=$target/debug/bed
junit=$target/nextest/default/junit.xml

cargo build --workspace --bins "${features[@]}"
trap '"$bed" --name "$name" down' EXIT
trap 'exit 130' INT TERM
"$bed" --name "$name" down 2>/dev/null
exports=$("$bed" --name "$name" up)
eval "$(grep '^export TENANTRY_BED=' <<<"$exports")"
export TENANTRY_BED

# The stories of the node need one, and the image.
filter=()
if reason=$(e2e/bed/node.sh possible); then
  e2e/bed/image.sh >/dev/null
else
  filter=(-E 'not (package(tenantry-e2e) and binary(node))')
fi

rm -f "$junit"
failed=0
cargo nextest run --workspace "${features[@]}" "${filter[@]}" || failed=1
doc_log=$(mktemp)
cargo test --doc --workspace --quiet "${features[@]}" 2>&1 | tee "$doc_log" || failed=1

counts=$(python3 - "$junit" "$doc_log" <<'P'
import os, re, sys
from xml.etree import ElementTree
junit, doc_log = sys.argv[1:]
ran = bad = 0
if os.path.exists(junit):
    suites = ElementTree.parse(junit).getroot()
    ran = int(suites.get("tests"))
    bad = int(suites.get("failures")) + int(suites.get("errors"))
passed, failed = ran - bad, bad
for line in open(doc_log):
    if found := re.match(r"test result: \w+\. (\d+) passed; (\d+) failed", line):
        passed, failed = passed + int(found[1]), failed + int(found[2])
print(f"{passed} passed, {failed} failed")
P
)
rm -f "$doc_log"
"$bed" --name "$name" down
trap - EXIT
[ ${#filter[@]} = 0 ] || echo "the stories of the node were left out: $reason"
echo "$counts"
exit "$failed"
