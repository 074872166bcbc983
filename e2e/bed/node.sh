#!/usr/bin/env bash
# The namespaces and cgroups of a bed with a real node.
#   node.sh possible       succeeds, or says in one line why no node can run here
#   node.sh hold RUN       becomes the first process of a bed's own network, mount, PID and cgroup namespaces, until killed;
#                          makes RUN/node/ready once they are set up
#   node.sh in PID RUN COMMAND...   becomes COMMAND inside the namespaces of PID, the child of `hold`, and in its cgroups
#   node.sh remove RUN     removes the cgroups of a bed that has ended
# Nothing in a bed with a node listens on an interface of the machine.
set -euo pipefail
bridge=10.244.0.1
service=10.0.0.1

possible() {
  [ "$(id -u)" = 0 ] || { echo "a node needs root"; exit 1; }
  [ "$(uname -m)" = x86_64 ] || { echo "a node was tried on x86_64 only"; exit 1; }
  command -v apt-get >/dev/null && command -v dpkg >/dev/null || { echo "containerd and runc come from Debian's packages, and this is no Debian"; exit 1; }
  local tool
  for tool in ip nsenter unshare; do
    command -v "$tool" >/dev/null || { echo "$tool is missing (packages iproute2 and util-linux)"; exit 1; }
  done
  grep -q '^[0-9]*:cpuset:' /proc/self/cgroup || { echo "the recipe is for cgroup v1, and this machine has no such hierarchy"; exit 1; }
  local group reason
  # Not through head: the writer of a closed pipe fails, and with it this script, without a word.
  read -r group < <(own_cgroups "probe-$$")
  if ! reason=$(mkdir "$group" 2>&1); then
    echo "cgroups are not writable: ${reason#mkdir: }"
    exit 1
  fi
  rmdir "$group"
  reason=$(unshare -n -m -p -C --fork --mount-proc sh -c 'ip link add tb0 type bridge && mount -t tmpfs tmpfs /run' 2>&1) || {
    echo "namespaces cannot be made: $reason"
    exit 1
  }
}

# own_cgroups NAME: one folder per hierarchy, below the one that this shell is in.
own_cgroups() {
  local _ controllers path folder
  while IFS=: read -r _ controllers path; do
    case $controllers in
      "") folder=unified ;;
      *) folder=${controllers#name=} ;;
    esac
    [ -d "/sys/fs/cgroup/$folder" ] || continue
    echo "/sys/fs/cgroup/$folder${path%/}/tenantry-bed-$1"
  done </proc/self/cgroup
}

join_cgroups() { # RUN
  local group
  while read -r group; do echo "$BASHPID" >"$group/cgroup.procs"; done <"$1/node/cgroups"
}

hold() {
  local run=$1 group file
  mkdir -p "$run"/node/{kubelet,containerd}
  own_cgroups "${run##*/}" >"$run/node/cgroups"
  while read -r group; do
    mkdir "$group"
    # A new cpuset has neither processors nor memory.
    for file in cpuset.cpus cpuset.mems; do
      [ ! -e "$group/$file" ] || cat "${group%/*}/$file" >"$group/$file"
    done
  done <"$run/node/cgroups"
  join_cgroups "$run"
  exec unshare -n -m -p -C --propagation private --fork --kill-child --mount-proc "$0" set-up "$run"
}

# The first process inside.
set_up() {
  local run=$1 _ controllers folder kind options
  ip link set lo up
  # In-cluster configuration finds the API server at its service address without a proxy.
  ip addr add "$service/32" dev lo
  ip link add tb0 type bridge
  ip addr add "$bridge/24" dev tb0
  ip link set tb0 up
  echo 1 >/proc/sys/net/ipv4/ip_forward
  mount -t sysfs sysfs /sys
  mount -t tmpfs tmpfs /sys/fs/cgroup
  while IFS=: read -r _ controllers _; do
    case $controllers in
      "") folder=unified kind=cgroup2 options=() ;;
      name=*) folder=${controllers#name=} kind=cgroup options=(-o "none,$controllers") ;;
      *) folder=$controllers kind=cgroup options=(-o "$controllers") ;;
    esac
    mkdir "/sys/fs/cgroup/$folder"
    mount -t "$kind" "${options[@]}" "$kind" "/sys/fs/cgroup/$folder"
  done </proc/self/cgroup
  mount --make-rshared /
  for folder in /run /var/lib /var/log; do mount -t tmpfs tmpfs "$folder"; done
  mkdir -p /run/containerd /var/lib/{kubelet,cni} /var/log/{pods,containers}
  mount --bind "$run/node/kubelet" /var/lib/kubelet
  mount --make-rshared /var/lib/kubelet
  touch "$run/node/ready"
  # The shell reaps what is orphaned in here.
  while :; do
    sleep 86400 &
    wait $!
  done
}

inside() {
  local pid=$1 run=$2
  shift 2
  join_cgroups "$run"
  exec nsenter -t "$pid" -n -m -p -C --wdns="$run" -- "$@"
}

remove() {
  local group end=$((SECONDS + 5))
  [ -e "$1/node/cgroups" ] || return 0
  while read -r group; do
    # What was killed may take a moment to leave.
    while [ -d "$group" ] && ! find "$group" -depth -type d -exec rmdir {} + 2>/dev/null; do
      if [ $SECONDS -ge $end ]; then
        echo "left behind: $group" >&2
        break
      fi
      sleep 0.05
    done
  done <"$1/node/cgroups"
}

case ${1-} in
  possible) possible ;;
  hold) hold "$2" ;;
  set-up) set_up "$2" ;;
  in) inside "${@:2}" ;;
  remove) remove "$2" ;;
  *)
    sed -n '2,8p' "$0" >&2
    exit 2
    ;;
esac
