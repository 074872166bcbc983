#!/usr/bin/env bash
# What `make demo` shows, on a running bed: an administrator registers a server, a team asks for a database, an application
# logs in, wrong edits are refused, a deletion leaves nothing behind.
#   demo-story.sh pods       installs the chart with helm; Tenantry runs as pods
#   demo-story.sh process    the chart is installed and Tenantry runs outside the cluster already, at TENANTRY_URL
# Env: what `bed env` exports
set -euo pipefail
cd "$(dirname "$0")/../.."
mode=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

title() { printf '\n\033[1m== %s\033[0m\n' "$*"; }
say() { # COMMAND...: the command, words quoted that a shell would split
  local word line=""
  for word in "$@"; do
    [[ $word == *[[:space:]\{\"\(\*]* ]] && word="'$word'"
    line+=" $word"
  done
  printf '\033[2m$%s\033[0m\n' "$line"
}
show() { # COMMAND...: what a person would type, then what it says
  say "$@"
  "$@"
}
refused() { # COMMAND...: must fail
  say "$@"
  if "$@"; then
    echo "demo: this edit should have been refused" >&2
    exit 1
  fi
}
secret() { kubectl -n netbox get secret shared-netbox-postgresql -o "jsonpath={.data.$1}" | base64 -d; }
watch_until_ready() { # KIND-AND-NAME... : the row of `kubectl get`, each time it changes
  local last="" table row ready end=$((SECONDS + 60))
  while [ $SECONDS -lt $end ]; do
    table=$(kubectl get "$@")
    # The age changes by itself.
    row=$(tail -n 1 <<<"$table" | sed 's/ *[^ ]*$//')
    [ "$row" = "$last" ] || echo "$table"
    last=$row
    ready=$(kubectl get "$@" -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}')
    if [ "$ready" = True ]; then
      [[ $last == *True* ]] || kubectl get "$@"
      return
    fi
    sleep 0.1
  done
  kubectl get "$@" -o yaml >&2
  exit 1
}

# The metrics of the replica that leads.
metrics() {
  if [ "$mode" = process ]; then
    python3 -c 'import ssl, sys, urllib.request
url, authority = sys.argv[1:]
print(urllib.request.urlopen(url, context=ssl.create_default_context(cafile=authority)).read().decode())' \
      "$TENANTRY_URL/metrics" "$work/ca.crt"
    return
  fi
  local leader
  leader=$(kubectl -n tenantry-system get lease tenantry -o 'jsonpath={.spec.holderIdentity}')
  kubectl get --raw "/api/v1/namespaces/tenantry-system/pods/https:${leader%%_*}:8443/proxy/metrics"
}

title "The parts: kube-apiserver, etcd, PostgreSQL ${PG:-15}, OpenBao, External Secrets Operator; and Tenantry by its chart"
if [ "$mode" = pods ]; then
  kubectl -n tenantry-system create configmap authority "--from-file=ca.crt=$PGSSLROOTCERT" >/dev/null
  # The bed has made the CRDs, before its controller manager; the release takes them over.
  show helm install tenantry charts/tenantry --namespace tenantry-system --wait --timeout 120s --take-ownership --force-conflicts \
    --set "openbao.address=$BAO_ADDR" --set postgresql.ca.configMapName=authority
  show kubectl -n tenantry-system get pods,services,poddisruptionbudgets
else
  show helm list -n tenantry-system
fi
echo "Tenantry runs as ServiceAccount tenantry-system/tenantry, with the rights of the chart and no others."

title "An administrator registers the server"
show kubectl -n tenantry-system create secret generic shared-postgresql-admin \
  --from-literal=username=tenantry_admin --from-file="password=$TENANTRY_BED_ADMIN_PASSWORD_FILE"
cat >"$work/instance.yaml" <<Y
apiVersion: database.ddupan.top/v1alpha1
kind: PostgreSQLInstance
metadata: {name: shared}
spec:
  endpoint: {host: $PGHOST, hostaddr: $PGHOSTADDR, port: $PGPORT, database: $PGDATABASE}
  adminCredentialRef: {name: shared-postgresql-admin}
Y
show kubectl apply -f "$work/instance.yaml"
watch_until_ready pginstance shared

title "A team asks for a database"
kubectl create namespace netbox >/dev/null
cat >"$work/tenant.yaml" <<'Y'
apiVersion: database.ddupan.top/v1alpha1
kind: PostgreSQLTenant
metadata: {name: netbox, namespace: netbox}
spec:
  instanceRef: shared
  extensions: [pg_trgm]
  deletionPolicy: Delete
Y
cat "$work/tenant.yaml"
show kubectl apply -f "$work/tenant.yaml"
watch_until_ready -n netbox pgtenant netbox

title "The application logs in with the Secret that External Secrets Operator projected"
show kubectl -n netbox get externalsecret,secret
secret 'ca\.crt' >"$work/ca.crt"
URI=$(secret uri)
export PGSSLROOTCERT="$work/ca.crt"
printf '\033[2m$ psql "$(kubectl -n netbox get secret shared-netbox-postgresql -o jsonpath={.data.uri} | base64 -d)" …\033[0m\n'
# The Secret's own values alone: not what this shell exported for the administrator.
# The server's name is in no DNS here, so its address is given beside the URI.
as_application() {
  env -u PGHOST -u PGPORT -u PGUSER -u PGDATABASE -u PGPASSFILE -u PGSSLMODE PGHOSTADDR="$(secret hostaddr)" psql "$URI" "$@"
}
as_application -c "SELECT current_user, current_database(), version() ~ '^PostgreSQL' AS postgresql,
  (SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()) AS tls"
echo "and uses an extension:"
as_application -c "SELECT similarity('tenantry', 'tenancy')"

title "Wrong edits are refused at once, by the CRD's rules and by the webhook"
refused kubectl -n netbox patch pgtenant netbox --type merge -p '{"spec":{"database":"other"}}'
refused kubectl -n netbox patch pgtenant netbox --type merge -p '{"spec":{"extensions":[]}}'
sed 's/name: netbox,/name: other,/; s/^spec:/spec:\n  database: tenantry/' "$work/tenant.yaml" >"$work/other.yaml"
refused kubectl apply -f "$work/other.yaml"

title "Deletion with policy Delete leaves nothing behind"
show kubectl -n netbox delete pgtenant netbox
until [ -z "$(kubectl -n netbox get secret shared-netbox-postgresql --ignore-not-found -o name)" ]; do sleep 0.1; done
show kubectl -n netbox get externalsecret,secret
export PGSSLROOTCERT="$work/ca.crt"
show psql -At -c "SELECT count(*) || ' databases, ' || (SELECT count(*) FROM pg_roles WHERE rolname = 'netbox') || ' roles, '
  || (SELECT count(*) FROM tenantry.claim) || ' registry rows' FROM pg_database WHERE datname = 'netbox'"
refused bao kv metadata get secret/tenantry/netbox/netbox

title "What it counted"
counted=$(metrics)
grep -m 16 -E '^(controller_runtime_reconcile_total|controller_runtime_webhook_requests_total|tenantry_external_effects_total|tenantry_instances)' <<<"$counted"

title "Done"
echo "make bed starts the parts alone; make test runs everything."
