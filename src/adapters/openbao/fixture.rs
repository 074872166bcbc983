//! What the tests against the double share.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::time::Duration;

use domain::tenancy::facts::EntryOwner;
use domain::tenancy::names::Uid;
use serde_json::json;

use super::double::{Asked, Double, Reply, install_provider, json};
use super::{Auth, OpenBao, OpenBaoSettings};

pub(super) const MOUNT: &str = "GET /v1/sys/internal/ui/mounts/secret";
pub(super) const DATA: &str = "GET /v1/secret/data/base/ns/name";
pub(super) const LOGIN: &str = "POST /v1/auth/kubernetes/login";

pub(super) fn mount(version: &str) -> Reply {
    json(
        200,
        &json!({"data": {"type": "kv", "options": {"version": version}}}),
    )
}

pub(super) fn nothing() -> Reply {
    json(404, &json!({"errors": []}))
}

pub(super) fn login(token: &str, lease: u32) -> Reply {
    json(
        200,
        &json!({"auth": {"client_token": token, "lease_duration": lease}}),
    )
}

pub(super) fn owner() -> EntryOwner {
    EntryOwner {
        tenant_uid: Uid::new("t-1"),
        instance_uid: Uid::new("i-1"),
        instance_name: "shared".to_owned(),
        database: "netbox".to_owned(),
        role: "netbox".to_owned(),
    }
}

/// A file of this test alone.
pub(super) fn file(name: &str, content: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("tenantry-openbao-{}-{name}", std::process::id()));
    std::fs::write(&path, content).unwrap();
    path
}

pub(super) fn settings(double: &Double, auth: Auth) -> OpenBaoSettings {
    install_provider();
    OpenBaoSettings {
        address: double.address.clone(),
        namespace: Some("team-a".to_owned()),
        ca_file: None,
        mount: "secret".to_owned(),
        auth,
        timeout: Duration::from_millis(500),
    }
}

pub(super) fn by_token(double: &Double, name: &str) -> OpenBao {
    OpenBao::new(settings(
        double,
        Auth::Token {
            file: file(name, "s.token\n"),
        },
    ))
    .unwrap()
}

pub(super) fn by_kubernetes(double: &Double, token_file: PathBuf) -> OpenBao {
    let auth = Auth::Kubernetes {
        mount: "kubernetes".to_owned(),
        role: "tenantry".to_owned(),
        token_file,
    };
    OpenBao::new(settings(double, auth)).unwrap()
}

/// A double whose mount is right, with this answer to every other request.
pub(super) fn answering(reply: impl Fn(&Asked) -> Option<Reply> + Send + Sync + 'static) -> Double {
    Double::start(move |asked| {
        if asked.line == MOUNT {
            Some(mount("2"))
        } else {
            reply(asked)
        }
    })
}
