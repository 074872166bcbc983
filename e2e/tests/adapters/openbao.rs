//! The client against a real OpenBao: entries from birth to removal, and what it says when something is wrong.
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use domain::tenancy::facts::{EntryFact, EntryOwner};
use domain::tenancy::failure::Class;
use domain::tenancy::names::Uid;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use tenantry::adapters::openbao::{Auth, Entry, OpenBao, OpenBaoSettings, generate_password};

/// A dev server of this test; it ends with it.
struct Server {
    child: Child,
    address: String,
    http: reqwest::Client,
    folder: PathBuf,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
        std::fs::remove_dir_all(&self.folder).ok();
    }
}

fn binary() -> PathBuf {
    std::env::var_os("BAO").map_or_else(
        || {
            PathBuf::from(std::env::var_os("HOME").unwrap())
                .join(".cache/tenantry-bed/openbao-2.7.2/bao")
        },
        PathBuf::from,
    )
}

/// Two neighbouring free ports: a dev server also takes the next one.
fn port() -> u16 {
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
    async fn start() -> Self {
        Self::start_by("http").await
    }

    /// By `https` the server makes a CA of its own, in `vault-ca.pem` of the folder.
    async fn start_by(scheme: &str) -> Self {
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

    async fn try_call(
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

    async fn call(&self, method: &str, path: &str, body: Value) -> Value {
        let (status, answer) = self.try_call(method, path, Some(body)).await.unwrap();
        assert!(status < 300, "{method} {path}: {status} {answer}");
        answer
    }

    fn token_file(&self, token: &str) -> PathBuf {
        let path = self.folder.join("token");
        std::fs::write(&path, token).unwrap();
        path
    }

    fn settings(&self, token: &str) -> OpenBaoSettings {
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

    fn client(&self) -> OpenBao {
        OpenBao::new(self.settings("root")).unwrap()
    }

    /// A token with only this policy.
    async fn token(&self, policy: &str) -> String {
        self.call("POST", "sys/policies/acl/test", json!({"policy": policy}))
            .await;
        let body = json!({"policies": ["test"], "no_default_policy": true});
        let answer = self.call("POST", "auth/token/create", body).await;
        answer["auth"]["client_token"].as_str().unwrap().to_owned()
    }
}

fn owner() -> EntryOwner {
    EntryOwner {
        tenant_uid: Uid::new("0e3b6c0e-0000-4000-8000-000000000001"),
        instance_uid: Uid::new("0e3b6c0e-0000-4000-8000-000000000002"),
        instance_name: "shared".to_owned(),
        database: "netbox".to_owned(),
        role: "netbox_app".to_owned(),
    }
}

async fn read(bao: &OpenBao, path: &str) -> Entry {
    bao.read(path)
        .await
        .unwrap_or_else(|failure| panic!("{failure}"))
}

const PATH: &str = "tenantry/postgresql/team-a/netbox";

#[tokio::test]
async fn t1_d9_an_entry_is_made_once_marked_read_back_and_removed_with_all_versions() {
    let server = Server::start().await;
    let bao = server.client();
    assert_eq!(read(&bao, PATH).await.fact, EntryFact::Absent);

    let password = generate_password();
    bao.create(PATH, &owner(), &password).await.unwrap();
    let entry = read(&bao, PATH).await;
    assert_eq!(
        entry.fact,
        EntryFact::Present {
            version: 1,
            data: Some(owner()),
            metadata: None
        }
    );
    assert_eq!(
        entry.password.unwrap().expose_secret(),
        password.expose_secret()
    );

    let again = bao
        .create(PATH, &owner(), &generate_password())
        .await
        .unwrap_err();
    assert_eq!(again.class, Class::Stale);
    assert_eq!(
        read(&bao, PATH).await.password.unwrap().expose_secret(),
        password.expose_secret()
    );

    bao.mark(PATH, &owner()).await.unwrap();
    let marked = EntryFact::Present {
        version: 1,
        data: Some(owner()),
        metadata: Some(owner().tenant_uid),
    };
    assert_eq!(read(&bao, PATH).await.fact, marked);

    bao.destroy(PATH).await.unwrap();
    assert_eq!(read(&bao, PATH).await.fact, EntryFact::Absent);
    bao.destroy(PATH).await.unwrap();
    assert!(bao.token_expiry().is_none());
}

#[tokio::test]
async fn d9_a_mark_keeps_what_others_set_and_refuses_another_owner() {
    let server = Server::start().await;
    let bao = server.client();
    assert_eq!(
        bao.mark(PATH, &owner()).await.unwrap_err().class,
        Class::Stale
    );
    bao.create(PATH, &owner(), &generate_password())
        .await
        .unwrap();
    let settings =
        json!({"max_versions": 3, "cas_required": true, "custom_metadata": {"team": "net"}});
    server
        .call("POST", &format!("secret/metadata/{PATH}"), settings)
        .await;
    bao.mark(PATH, &owner()).await.unwrap();
    let metadata = server
        .call("GET", &format!("secret/metadata/{PATH}"), Value::Null)
        .await;
    assert_eq!(metadata["data"]["max_versions"], 3);
    assert_eq!(metadata["data"]["cas_required"], true);
    assert_eq!(metadata["data"]["custom_metadata"]["team"], "net");
    assert_eq!(metadata["data"]["custom_metadata"]["database"], "netbox");

    let other = EntryOwner {
        tenant_uid: Uid::new("other"),
        ..owner()
    };
    assert_eq!(
        bao.mark(PATH, &other).await.unwrap_err().class,
        Class::Conflict
    );
    let EntryFact::Present { metadata, .. } = read(&bao, PATH).await.fact else {
        panic!("present")
    };
    assert_eq!(metadata, Some(owner().tenant_uid));
}

#[tokio::test]
async fn t1_deleted_and_destroyed_versions_are_told_from_an_absent_entry() {
    let server = Server::start().await;
    let bao = server.client();
    bao.create(PATH, &owner(), &generate_password())
        .await
        .unwrap();
    bao.mark(PATH, &owner()).await.unwrap();
    let deleted = EntryFact::Deleted {
        metadata: Some(owner().tenant_uid),
    };
    server
        .call("DELETE", &format!("secret/data/{PATH}"), Value::Null)
        .await;
    assert_eq!(read(&bao, PATH).await.fact, deleted);
    let again = bao
        .create(PATH, &owner(), &generate_password())
        .await
        .unwrap_err();
    assert_eq!(
        again.class,
        Class::Stale,
        "a deleted version is no room for a second password"
    );
    server
        .call(
            "POST",
            &format!("secret/undelete/{PATH}"),
            json!({"versions": [1]}),
        )
        .await;
    assert!(read(&bao, PATH).await.password.is_some());
    server
        .call(
            "POST",
            &format!("secret/destroy/{PATH}"),
            json!({"versions": [1]}),
        )
        .await;
    let destroyed = read(&bao, PATH).await;
    assert_eq!(destroyed.fact, deleted);
    assert!(destroyed.password.is_none());

    let bare = "tenantry/postgresql/team-a/bare";
    server
        .call(
            "POST",
            &format!("secret/metadata/{bare}"),
            json!({"custom_metadata": {"tenant-uid": "x"}}),
        )
        .await;
    assert_eq!(
        read(&bao, bare).await.fact,
        EntryFact::Deleted {
            metadata: Some(Uid::new("x"))
        }
    );
}

#[tokio::test]
async fn d13_a_version_written_by_hand_keeps_its_owner_in_the_metadata() {
    let server = Server::start().await;
    let bao = server.client();
    bao.create(PATH, &owner(), &generate_password())
        .await
        .unwrap();
    bao.mark(PATH, &owner()).await.unwrap();
    server
        .call(
            "POST",
            &format!("secret/data/{PATH}"),
            json!({"data": {"password": "p@ss:w\\rd"}}),
        )
        .await;
    let entry = read(&bao, PATH).await;
    assert_eq!(
        entry.fact,
        EntryFact::Present {
            version: 2,
            data: None,
            metadata: Some(owner().tenant_uid)
        }
    );
    assert_eq!(entry.password.unwrap().expose_secret(), "p@ss:w\\rd");
}

#[tokio::test]
async fn case_44_of_two_writers_at_once_one_password_stays_and_both_read_it() {
    let server = Server::start().await;
    let (one, two) = (server.client(), server.client());
    let (first, second) = (generate_password(), generate_password());
    let (owner_one, owner_two) = (owner(), owner());
    let results = tokio::join!(
        one.create(PATH, &owner_one, &first),
        two.create(PATH, &owner_two, &second)
    );
    let winner = match results {
        (Ok(()), Err(failure)) => (first, failure),
        (Err(failure), Ok(())) => (second, failure),
        both => panic!("{both:?}"),
    };
    assert_eq!(winner.1.class, Class::Stale);
    for bao in [one, two] {
        let password = read(&bao, PATH).await.password.unwrap();
        assert_eq!(password.expose_secret(), winner.0.expose_secret());
    }
}

#[tokio::test]
async fn case_42_a_kv_v1_or_missing_mount_is_misconfigured_and_nothing_is_written() {
    let server = Server::start().await;
    server
        .call(
            "POST",
            "sys/mounts/old",
            json!({"type": "kv", "options": {"version": "1"}}),
        )
        .await;
    for (mount, words) in [
        ("old", "version 2"),
        ("cubbyhole", "version 2"),
        ("nowhere", "no mount"),
    ] {
        let bao = OpenBao::new(OpenBaoSettings {
            mount: mount.to_owned(),
            ..server.settings("root")
        })
        .unwrap();
        let failure = bao
            .create(PATH, &owner(), &SecretString::from("pw"))
            .await
            .unwrap_err();
        assert_eq!(failure.class, Class::Misconfigured, "{mount}");
        assert!(failure.text.contains(words), "{failure}");
    }
    let (status, _) = server
        .try_call("GET", &format!("old/data/{PATH}"), None)
        .await
        .unwrap();
    assert_eq!(status, 404);
}

#[tokio::test]
async fn a_missing_right_names_what_was_refused_and_the_rest_still_works() {
    let server = Server::start().await;
    let policy = "path \"secret/data/*\" { capabilities = [\"create\", \"read\"] }\n\
                  path \"secret/metadata/*\" { capabilities = [\"read\"] }";
    let token = server.token(policy).await;
    let bao = OpenBao::new(server.settings(&token)).unwrap();
    bao.create(PATH, &owner(), &generate_password())
        .await
        .unwrap();
    let failure = bao.mark(PATH, &owner()).await.unwrap_err();
    assert_eq!(failure.class, Class::Authentication);
    assert!(
        failure
            .text
            .contains(&format!("marking secret/metadata/{PATH}")),
        "{failure}"
    );
    assert!(read(&bao, PATH).await.password.is_some());
    assert_eq!(
        bao.destroy(PATH).await.unwrap_err().class,
        Class::Authentication
    );
}

#[tokio::test]
async fn h34_a_token_revoked_in_the_middle_is_replaced_from_its_file() {
    let server = Server::start().await;
    let policy =
        "path \"secret/*\" { capabilities = [\"create\", \"read\", \"update\", \"delete\"] }";
    let (old, new) = (server.token(policy).await, server.token(policy).await);
    let bao = OpenBao::new(server.settings(&old)).unwrap();
    bao.create(PATH, &owner(), &generate_password())
        .await
        .unwrap();
    server
        .call("POST", "auth/token/revoke", json!({"token": old}))
        .await;
    server.token_file(&new);
    assert!(read(&bao, PATH).await.password.is_some());
}

#[tokio::test]
async fn h34_a_sealed_server_is_unavailable_and_says_so() {
    let server = Server::start().await;
    let bao = server.client();
    assert_eq!(read(&bao, PATH).await.fact, EntryFact::Absent);
    server.call("POST", "sys/seal", Value::Null).await;
    for failure in [
        bao.read(PATH).await.err().unwrap(),
        bao.create(PATH, &owner(), &generate_password())
            .await
            .unwrap_err(),
        bao.destroy(PATH).await.unwrap_err(),
        server.client().read(PATH).await.err().unwrap(),
    ] {
        assert_eq!(failure.class, Class::Unavailable);
        assert!(failure.text.contains("sealed"), "{failure}");
    }
}

#[tokio::test]
async fn a_namespace_has_its_own_mounts_and_a_missing_one_is_misconfigured() {
    let server = Server::start().await;
    server
        .call("POST", "sys/namespaces/team", Value::Null)
        .await;
    server
        .call(
            "POST",
            "team/sys/mounts/secret",
            json!({"type": "kv", "options": {"version": "2"}}),
        )
        .await;
    let inside = OpenBaoSettings {
        namespace: Some("team".to_owned()),
        ..server.settings("root")
    };
    let bao = OpenBao::new(inside).unwrap();
    for _ in 0..100 {
        // A fresh KV v2 mount answers 400 until its upgrade from nothing is done.
        if bao.read(PATH).await.is_ok() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    bao.create(PATH, &owner(), &generate_password())
        .await
        .unwrap();
    assert!(read(&bao, PATH).await.password.is_some());
    assert_eq!(read(&server.client(), PATH).await.fact, EntryFact::Absent);
    let missing = OpenBaoSettings {
        namespace: Some("nowhere".to_owned()),
        ..server.settings("root")
    };
    let failure = OpenBao::new(missing)
        .unwrap()
        .read(PATH)
        .await
        .err()
        .unwrap();
    assert_eq!(failure.class, Class::Misconfigured, "{failure}");
}

#[tokio::test]
async fn tls_is_verified_with_the_ca_file_and_a_refused_certificate_is_named() {
    let server = Server::start_by("https").await;
    let ca_file = server.folder.join("vault-ca.pem");
    let trusting = OpenBaoSettings {
        ca_file: Some(ca_file),
        ..server.settings("root")
    };
    let bao = OpenBao::new(trusting).unwrap();
    assert_eq!(read(&bao, PATH).await.fact, EntryFact::Absent);
    // The system's roots do not know this CA.
    let failure = server.client().read(PATH).await.err().unwrap();
    assert_eq!(failure.class, Class::Unavailable);
    assert!(
        failure.text.contains("certificate was not accepted"),
        "{failure}"
    );
}
