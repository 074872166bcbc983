//! Decoding what users write and what the API server stores, and what is written back.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use crds::{PostgreSQLInstance, PostgreSQLTenant};
use domain::tenancy::instance::{Checkpoint, InstanceSnapshot};
use domain::tenancy::reason::{Ready, Reason};
use domain::tenancy::tenant::{TenantPhase, TenantStatus};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

fn tenant(spec: &Value, status: &Value) -> PostgreSQLTenant {
    let metadata = json!({"name": "app", "namespace": "team", "uid": "u", "generation": 3});
    serde_json::from_value(json!({"metadata": metadata, "spec": spec, "status": status})).unwrap()
}

fn instance(endpoint: &Value, reference: &Value, status: &Value) -> PostgreSQLInstance {
    let metadata = json!({"name": "main", "uid": "u", "generation": 3});
    let spec = json!({"endpoint": endpoint, "adminCredentialRef": reference});
    serde_json::from_value(json!({"metadata": metadata, "spec": spec, "status": status})).unwrap()
}

fn now(second: i64) -> Time {
    Time(Timestamp::from_second(second).unwrap())
}

/// Every default of a schema, by path.
fn defaults(schema: &JSONSchemaProps, path: &str, found: &mut Vec<(String, Value)>) {
    if let Some(default) = &schema.default {
        found.push((path.to_owned(), default.0.clone()));
    }
    for (name, child) in schema.properties.iter().flatten() {
        defaults(child, &format!("{path}/{name}"), found);
    }
}

#[test]
fn c4_an_absent_field_and_null_decode_to_the_default_that_the_schema_shows() {
    let bare_instance = instance(
        &json!({"host": "h", "hostaddr": "a"}),
        &json!({"name": "s"}),
        &Value::Null,
    );
    let null_instance = instance(
        &json!({"host": "h", "hostaddr": "a", "port": null, "database": null, "sslMode": null}),
        &json!({"name": "s", "usernameKey": null, "passwordKey": null}),
        &json!({"phase": null, "conditions": null}),
    );
    let bare_tenant = tenant(&json!({"instanceRef": "i"}), &Value::Null);
    let null_tenant = tenant(
        &json!({"instanceRef": "i", "database": null, "loginRole": null, "extensions": null, "credential": null, "deletionPolicy": null}),
        &json!({"phase": null, "conditions": null, "credential": null}),
    );
    assert_eq!(bare_instance.spec, null_instance.spec);
    assert_eq!(bare_tenant.spec, null_tenant.spec);
    let decoded = [
        json!({"spec": bare_instance.spec}),
        json!({"spec": bare_tenant.spec}),
    ];
    for (crd, decoded) in crds::tenancy_kinds().into_iter().zip(decoded) {
        let schema = crd.spec.versions[0].schema.clone().unwrap();
        let mut shown = Vec::new();
        defaults(&schema.open_api_v3_schema.unwrap(), "", &mut shown);
        assert!(!shown.is_empty());
        for (path, default) in shown {
            assert_eq!(decoded.pointer(&path), Some(&default), "{path}");
        }
    }
}

#[test]
fn c4_values_that_depend_on_others_have_no_default_in_the_schema() {
    let found: Vec<String> = crds::tenancy_kinds()
        .into_iter()
        .flat_map(|crd| {
            let mut found = Vec::new();
            let schema = crd.spec.versions[0].schema.clone().unwrap();
            defaults(&schema.open_api_v3_schema.unwrap(), "", &mut found);
            found.into_iter().map(|(path, _)| path)
        })
        .collect();
    let expected = [
        "/spec/adminCredentialRef/passwordKey",
        "/spec/adminCredentialRef/usernameKey",
        "/spec/endpoint/database",
        "/spec/endpoint/port",
        "/spec/endpoint/sslMode",
        "/spec/deletionPolicy",
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_tenants_status_comes_back_as_it_was_written() {
    let object = tenant(&json!({"instanceRef": "i"}), &Value::Null);
    let status = TenantStatus {
        observed_generation: Some(3),
        phase: TenantPhase::DatabaseCreated,
        database: Some("app".to_owned()),
        login_role: Some("app".to_owned()),
        database_oid: Some(u32::MAX),
        secret_name: Some("i-app-postgresql".to_owned()),
        openbao_url: Some("https://bao/v1/secret/data/x".to_owned()),
        ready: Some(Ready::new(Reason::Conflict, "taken")),
    };
    let written = object.status_to_write(&status, &now(1)).unwrap();
    let wire = serde_json::to_value(&written).unwrap();
    assert_eq!(wire["databaseOID"], u32::MAX);
    assert_eq!(
        wire["credential"]["openBaoURL"],
        "https://bao/v1/secret/data/x"
    );
    let stored = PostgreSQLTenant {
        status: Some(written),
        ..object
    };
    assert_eq!(stored.domain_status(), status);
    assert_eq!(stored.recorded().secret_name, Some("i-app-postgresql"));
    assert_eq!(stored.recorded().reason, Some(Reason::Conflict));
    assert_eq!(
        stored.status_to_write(&status, &now(2)),
        None,
        "nothing changed, so there is nothing to write"
    );
}

#[test]
fn an_instances_status_comes_back_as_it_was_written() {
    let object = instance(
        &json!({"host": "h", "hostaddr": "a"}),
        &json!({"name": "s"}),
        &Value::Null,
    );
    let snapshot = InstanceSnapshot {
        checkpoint: Checkpoint::Ready,
        observed_revision: Some(3),
        ready: Some(Ready::new(Reason::Ready, "usable")),
        reported_version: Some("15.18".to_owned()),
    };
    let written = object.status_to_write(&snapshot, &now(1)).unwrap();
    assert_eq!(
        serde_json::to_value(&written).unwrap()["postgresqlVersion"],
        "15.18"
    );
    let stored = PostgreSQLInstance {
        status: Some(written),
        ..object
    };
    assert_eq!(stored.snapshot(), snapshot);
    assert_eq!(stored.status_to_write(&snapshot, &now(2)), None);
}

#[test]
fn a_missing_phase_is_written_down_as_pending_with_the_first_condition_and_not_by_itself() {
    let object = tenant(&json!({"instanceRef": "i"}), &Value::Null);
    assert_eq!(
        object.status_to_write(&TenantStatus::default(), &now(1)),
        None
    );
    let refused = TenantStatus {
        ready: Some(Ready::new(Reason::Conflict, "taken")),
        ..TenantStatus::default()
    };
    let written = object.status_to_write(&refused, &now(1)).unwrap();
    assert_eq!(written.phase.as_deref(), Some("Pending"));
    let forged = tenant(&json!({"instanceRef": "i"}), &json!({"phase": "Whatever"}));
    assert_eq!(forged.domain_status().phase, TenantPhase::Pending);
    let written = forged
        .status_to_write(&TenantStatus::default(), &now(1))
        .unwrap();
    assert_eq!(written.phase.as_deref(), Some("Pending"));
}
