//! Reaching a server: TLS modes, credentials, hostile servers.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use domain::tenancy::capability::Check;
use domain::tenancy::failure::{Class, Failure};
use tenantry::adapters::postgres::{Depth, Postgres, ServerTarget};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::world::{Change, World, unique, within};

async fn access(postgres: &Postgres, target: &ServerTarget) -> Result<(), Failure> {
    let seen = within(
        Duration::from_secs(12),
        postgres.inspect(target, Depth::Extensions),
    )
    .await;
    match (seen.access, seen.metadata) {
        (Check::Failed(failure), _) | (_, Check::Failed(failure)) => Err(failure),
        (Check::Passed, Check::Passed) => Ok(()),
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn is(outcome: Result<(), Failure>, class: Class, words: &str) {
    super::world::refused(outcome, class, words);
}

#[tokio::test]
async fn d11_each_tls_mode_verifies_what_it_says_and_no_more() {
    let world = World::empty().await;
    let mut adapters = Vec::new();
    for (mode, host, hostaddr, missing) in [
        ("verify-full", None, None, None),
        (
            "verify-full",
            Some("other.test"),
            None,
            Some("no DNS subject alternative name for host other.test"),
        ),
        (
            "verify-full",
            None,
            Some("127.0.0.2"),
            Some("no IP subject alternative name for hostaddr 127.0.0.2"),
        ),
        (
            "verify-full",
            Some("other.test"),
            Some("127.0.0.2"),
            Some("neither"),
        ),
        ("verify-ca", Some("other.test"), Some("127.0.0.2"), None),
        ("require", Some("other.test"), Some("127.0.0.2"), None),
        ("disable", Some("other.test"), Some("127.0.0.2"), None),
    ] {
        if mode == "disable" {
            // The last one, because its own connection may still be closing afterwards.
            let spoken = in_the_clear_and_over_tls(&world).await;
            assert_eq!(spoken.as_deref(), Some("0 in the clear, over TLS: true"));
        }
        let target = world.changed(&Change {
            host,
            hostaddr,
            ssl_mode: mode,
            ..Change::default()
        });
        let adapter = world.with(|_| {});
        let outcome = access(&adapter, &target).await;
        // Its connections stay open, to be looked at.
        adapters.push(adapter);
        match missing {
            None => outcome.unwrap(),
            Some(words) => is(outcome, Class::Authentication, words),
        }
    }
}

/// How the adapters' open connections to this test's database speak.
async fn in_the_clear_and_over_tls(world: &World) -> Option<String> {
    let sql = format!(
        "SELECT count(*) FILTER (WHERE NOT s.ssl) || ' in the clear, over TLS: ' || (count(*) FILTER (WHERE s.ssl) > 0)
           FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid)
          WHERE a.application_name = 'tenantry' AND a.datname = '{}'",
        world.management
    );
    world.value("postgres", &sql).await
}

#[tokio::test]
async fn h22_a_wrong_authority_or_a_server_without_tls_is_refused_before_any_password() {
    let world = World::empty().await;
    let foreign =
        world.with(|settings| settings.trust = Arc::new(certs::Trust::load(None).unwrap()));
    is(
        access(&foreign, &world.target).await,
        Class::Authentication,
        "not issued by a trusted authority",
    );
    let (address, _server) = fake(|mut stream| async move {
        let mut request = [0; 8];
        stream.read_exact(&mut request).await.unwrap();
        stream.write_all(b"N").await.unwrap();
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).await.unwrap();
        assert!(
            rest.is_empty(),
            "nothing is said to a server that declines TLS"
        );
    })
    .await;
    for mode in ["require", "verify-ca", "verify-full"] {
        let target = world.changed(&Change {
            port: Some(address.port()),
            ssl_mode: mode,
            ..Change::default()
        });
        is(
            access(&world.with(|_| {}), &target).await,
            Class::Authentication,
            "TLS",
        );
    }
}

#[tokio::test]
async fn wrong_credentials_and_a_missing_database_say_what_to_do_and_never_the_admin_s_name() {
    let world = World::empty().await;
    let admin = e2e::bed::postgres::ADMIN;
    let wrong = [
        world.as_admin(admin, "wrong"),
        world.as_admin("nobody_of_this_name", "x"),
    ];
    for target in wrong {
        let failure = access(&world.postgres, &target).await.unwrap_err();
        assert_eq!(failure.class, Class::Authentication);
        assert!(
            failure.text.contains("28P01") && failure.text.contains("admin Secret"),
            "{failure}"
        );
        assert!(
            !failure.text.contains(admin) && !failure.text.contains("nobody_of"),
            "{failure}"
        );
    }
    is(
        access(&world.postgres, &world.as_admin("a\0b", "x")).await,
        Class::Authentication,
        "NUL",
    );
    let target = world.changed(&Change {
        database: Some("not_there"),
        ..Change::default()
    });
    is(
        access(&world.postgres, &target).await,
        Class::Misconfigured,
        "CREATE DATABASE \"not_there\"",
    );
    world
        .sql(
            "postgres",
            &format!(
                "REVOKE CONNECT ON DATABASE {} FROM PUBLIC",
                world.management
            ),
        )
        .await;
    is(
        access(&world.with(|_| {}), &world.target).await,
        Class::Privileges,
        "GRANT CONNECT ON DATABASE",
    );
}

#[tokio::test]
async fn h21_open_closed_and_silent_ports_are_told_alike() {
    let world = World::empty().await;
    let closed = TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let (silent, _server) = fake(|stream| async move {
        tokio::time::sleep(Duration::from_secs(30)).await;
        drop(stream);
    })
    .await;
    let (hanging_up, _server2) = fake(|stream| async move { drop(stream) }).await;
    let postgres = world.with(|settings| settings.connect_timeout = Duration::from_secs(1));
    for port in [closed, silent.port(), hanging_up.port()] {
        let target = world.changed(&Change {
            port: Some(port),
            ..Change::default()
        });
        let start = Instant::now();
        let failure = access(&postgres, &target).await.unwrap_err();
        assert_eq!(
            failure,
            Failure::new(
                Class::Unavailable,
                format!("could not connect to 127.0.0.1:{port}")
            )
        );
        assert!(start.elapsed() < Duration::from_secs(3));
    }
}

#[tokio::test]
async fn h23_a_hostile_server_gets_no_password_and_no_memory() {
    let world = World::empty().await;
    let clear_text = vec![b'R', 0, 0, 0, 8, 0, 0, 0, 3];
    let gigabyte = vec![b'E', 0x40, 0, 0, 0];
    let mut endless = vec![b'R', 0, 0, 0, 8, 0, 0, 0, 0];
    for _ in 0..2000 {
        endless.extend(
            [
                &[b'S', 0, 0, 1, 4],
                [b'x'; 127].as_slice(),
                &[0],
                [b'y'; 127].as_slice(),
                &[0],
            ]
            .concat(),
        );
    }
    for (bytes, class, words) in [
        (clear_text, Class::Authentication, "clear text"),
        (gigabyte, Class::Authentication, "no PostgreSQL server"),
        (
            b"R\0\0\0\x0f\0\0\0\x0aPLAIN\0\0".to_vec(),
            Class::Authentication,
            "does not complete SCRAM-SHA-256",
        ),
        (endless, Class::Authentication, "no PostgreSQL server"),
    ] {
        let (address, server) = fake(move |mut stream| {
            let bytes = bytes.clone();
            async move {
                let mut startup = [0; 4096];
                let _ = stream.read(&mut startup).await;
                let _ = stream.write_all(&bytes).await;
                let mut answer = Vec::new();
                let _ =
                    tokio::time::timeout(Duration::from_secs(1), stream.read_to_end(&mut answer))
                        .await;
                assert!(answer.is_empty(), "an answer of {} bytes", answer.len());
            }
        })
        .await;
        let target = world.changed(&Change {
            port: Some(address.port()),
            ssl_mode: "disable",
            ..Change::default()
        });
        is(access(&world.with(|_| {}), &target).await, class, words);
        server.abort();
    }
}

#[tokio::test]
async fn a_pooler_that_refuses_startup_options_is_told() {
    let world = World::empty().await;
    let refusal = b"SFATAL\0C08P01\0Munsupported startup parameter: options\0\0";
    let message = [
        b"E".as_slice(),
        (u32::try_from(refusal.len()).unwrap() + 4)
            .to_be_bytes()
            .as_slice(),
        refusal,
    ]
    .concat();
    let (address, _server) = fake(move |mut stream| {
        let message = message.clone();
        async move {
            let mut startup = [0; 4096];
            let _ = stream.read(&mut startup).await;
            let _ = stream.write_all(&message).await;
        }
    })
    .await;
    let target = world.changed(&Change {
        port: Some(address.port()),
        ssl_mode: "disable",
        ..Change::default()
    });
    is(
        access(&world.with(|_| {}), &target).await,
        Class::Misconfigured,
        "pooler",
    );
}

#[tokio::test]
async fn zalando_524_a_changed_credential_gets_a_new_pool_and_closes_the_old_one() {
    let world = World::new().await;
    let admin = unique("admin");
    let role = format!(
        "CREATE ROLE {admin} LOGIN CREATEDB CREATEROLE PASSWORD 'one'; GRANT tenantry_admin TO {admin}"
    );
    world.sql("postgres", &role).await;
    let (old, new) = (world.as_admin(&admin, "one"), world.as_admin(&admin, "two"));
    access(&world.postgres, &old).await.unwrap();
    world
        .sql("postgres", &format!("ALTER ROLE {admin} PASSWORD 'two'"))
        .await;
    // The old login lives on in the pool, but a validation logs in anew.
    access(&world.postgres, &old).await.unwrap();
    let seen = world.postgres.inspect(&old, Depth::Rights).await;
    assert!(
        matches!(&seen.access, Check::Failed(failure) if failure.class == Class::Authentication),
        "{:?}",
        seen.access
    );
    access(&world.postgres, &new).await.unwrap();
    let sessions = format!("SELECT count(*) FROM pg_stat_activity WHERE usename = '{admin}'");
    assert_eq!(
        world.value("postgres", &sessions).await.as_deref(),
        Some("1")
    );
    world.postgres.retire(&world.target.binding.uid);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(
        world.value("postgres", &sessions).await.as_deref(),
        Some("0")
    );
}

/// A server of bytes.
async fn fake<F, W>(serve: F) -> (SocketAddr, tokio::task::JoinHandle<()>)
where
    F: Fn(tokio::net::TcpStream) -> W + Send + 'static,
    W: Future<Output = ()> + Send,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let task = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            serve(stream).await;
        }
    });
    (address, task)
}
