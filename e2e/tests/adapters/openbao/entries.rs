//! Entries from birth to removal: one password, its owner, its versions (T1, D9, D13).

use domain::tenancy::facts::{EntryFact, EntryOwner};
use domain::tenancy::failure::Class;
use domain::tenancy::names::Uid;
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use tenantry::adapters::openbao::generate_password;

use super::server::{PATH, Server, owner, read};

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
