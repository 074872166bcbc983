-- The registry: who claimed which database and role on this server. It is the authority on ownership.
CREATE SCHEMA tenantry;
REVOKE ALL ON SCHEMA tenantry FROM PUBLIC;
COMMENT ON SCHEMA tenantry IS 'Tenantry''s registry of tenants. Do not edit by hand.';

-- Proves that a schema of this name is ours, and which migrations it has had.
CREATE TABLE tenantry.marker (
  product pg_catalog.text NOT NULL,
  version pg_catalog.int4 NOT NULL,
  only_row pg_catalog.bool NOT NULL DEFAULT true PRIMARY KEY CHECK (only_row)
);
INSERT INTO tenantry.marker (product, version) VALUES ('tenantry', 0);

CREATE TABLE tenantry.claim (
  tenant_uid pg_catalog.text NOT NULL PRIMARY KEY,
  cluster_uid pg_catalog.text NOT NULL,
  instance_uid pg_catalog.text NOT NULL,
  namespace pg_catalog.text NOT NULL,
  name pg_catalog.text NOT NULL,
  database pg_catalog.text NOT NULL,
  role pg_catalog.text NOT NULL,
  secret_name pg_catalog.text NOT NULL,
  secret_path pg_catalog.text NOT NULL,
  role_oid pg_catalog.oid,
  database_oid pg_catalog.oid,
  extensions pg_catalog.text[] NOT NULL DEFAULT '{}',
  applied_kv_version pg_catalog.int8,
  verifier_resent_at pg_catalog.timestamptz,
  state pg_catalog.text NOT NULL DEFAULT 'managed' CHECK (state IN ('managed', 'unmanaged', 'deleting')),
  frozen_policy pg_catalog.text CHECK (frozen_policy IN ('Retain', 'Delete')),
  created_at pg_catalog.timestamptz NOT NULL DEFAULT pg_catalog.now(),
  updated_at pg_catalog.timestamptz NOT NULL DEFAULT pg_catalog.now(),
  CONSTRAINT claim_database UNIQUE (database),
  CONSTRAINT claim_role UNIQUE (role),
  CONSTRAINT claim_tenant UNIQUE (cluster_uid, namespace, name)
);
REVOKE ALL ON TABLE tenantry.marker, tenantry.claim FROM PUBLIC;
