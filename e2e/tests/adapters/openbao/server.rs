//! A dev server of OpenBao for one test, and what its tests ask of it beside the adapter. Asserts nothing.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use domain::tenancy::facts::EntryOwner;
use domain::tenancy::names::Uid;
use serde_json::{Value, json};
use tenantry::adapters::openbao::{Auth, Entry, OpenBao, OpenBaoSettings};

/// A dev server of this test; it ends with it.
pub(super) struct Server {
    pub(super) child: Child,
    pub(super) address: String,
    pub(super) http: reqwest::Client,
    pub(super) folder: PathBuf,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
        std::fs::remove_dir_all(&self.folder).ok();
    }
}

pub(super) fn binary() -> PathBuf {
    std::env::var_os("BAO").map_or_else(
        || {
            PathBuf::from(std::env::var_os("HOME").unwrap())
                .join(".cache/tenantry-bed/openbao-2.7.2/bao")
        },
        PathBuf::from,
    )
}

/// Two neighbouring free ports: a dev server also takes the next one.
pub(super) fn port() -> u16 {
    (0..100)
        .find_map(|_| {
            let port = TcpListener::bind("127.0.0.1:0")
                .unwrap()
                .local_addr()
                .unwrap()
                .port();
            TcpListener::bind(("127.0.0.1", port.checked_add(1)?))
                .is_ok()
                .then_some(port)
        })
        .unwrap()
}

impl Server {
    pub(super) async fn start() -> Self {
        Self::start_by("http").await
    }

    /// By `https` the server makes a CA of its own, in `vault-ca.pem` of the folder.
    pub(super) async fn start_by(scheme: &str) -> Self {
        static PROVIDER: OnceLock<()> = OnceLock::new();
        PROVIDER.get_or_init(|| {
            rustls::crypto::ring::default_provider()
                .install_default()
                .unwrap();
        });
        let port = port();
        let folder =
            std::env::temp_dir().join(format!("tenantry-bao-{}-{port}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let child = Command::new(binary())
            .args([
                "server",
                "-dev",
                "-dev-root-token-id=root",
                "-dev-no-store-token",
            ])
            .arg(format!("-dev-listen-address=127.0.0.1:{port}"))
            .args((scheme == "https").then(|| format!("-dev-tls-cert-dir={}", folder.display())))
            .args((scheme == "https").then_some("-dev-tls"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let http = reqwest::Client::builder()
            .tls_danger_accept_invalid_certs(true)
            .no_proxy()
            .build()
            .unwrap();
        let server = Self {
            child,
            address: format!("{scheme}://127.0.0.1:{port}"),
            http,
            folder,
        };
        for _ in 0..200 {
            // The KV mount comes a moment after the server answers.
            if server
                .try_call("GET", "secret/config", None)
                .await
                .is_some_and(|(status, _)| status == 200)
            {
                return server;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("OpenBao does not start");
    }

    pub(super) async fn try_call(
        &self,
        method: &str,
        path: &str,
        body: Option<Value>,
    ) -> Option<(u16, Value)> {
        let url = format!("{}/v1/{path}", self.address);
        let request = self
            .http
            .request(method.parse().unwrap(), url)
            .header("X-Vault-Token", "root");
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        let answer = request.body(body).send().await.ok()?;
        let status = answer.status().as_u16();
        let body = answer.bytes().await.ok()?;
        Some((status, serde_json::from_slice(&body).unwrap_or_default()))
    }

    pub(super) async fn call(&self, method: &str, path: &str, body: Value) -> Value {
        let (status, answer) = self.try_call(method, path, Some(body)).await.unwrap();
        assert!(status < 300, "{method} {path}: {status} {answer}");
        answer
    }

    pub(super) fn token_file(&self, token: &str) -> PathBuf {
        let path = self.folder.join("token");
        std::fs::write(&path, token).unwrap();
        path
    }

    pub(super) fn settings(&self, token: &str) -> OpenBaoSettings {
        OpenBaoSettings {
            address: self.address.clone(),
            namespace: None,
            ca_file: None,
            mount: "secret".to_owned(),
            auth: Auth::Token {
                file: self.token_file(token),
            },
            timeout: Duration::from_secs(2),
        }
    }

    pub(super) fn client(&self) -> OpenBao {
        OpenBao::new(self.settings("root")).unwrap()
    }

    /// A token with only this policy.
    pub(super) async fn token(&self, policy: &str) -> String {
        self.call("POST", "sys/policies/acl/test", json!({"policy": policy}))
            .await;
        let body = json!({"policies": ["test"], "no_default_policy": true});
        let answer = self.call("POST", "auth/token/create", body).await;
        answer["auth"]["client_token"].as_str().unwrap().to_owned()
    }
}

pub(super) fn owner() -> EntryOwner {
    EntryOwner {
        tenant_uid: Uid::new("0e3b6c0e-0000-4000-8000-000000000001"),
        instance_uid: Uid::new("0e3b6c0e-0000-4000-8000-000000000002"),
        instance_name: "shared".to_owned(),
        database: "netbox".to_owned(),
        role: "netbox_app".to_owned(),
    }
}

pub(super) async fn read(bao: &OpenBao, path: &str) -> Entry {
    bao.read(path)
        .await
        .unwrap_or_else(|failure| panic!("{failure}"))
}

pub(super) const PATH: &str = "tenantry/postgresql/team-a/netbox";
