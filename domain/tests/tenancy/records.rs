//! A registry row in a person's hands: who may release it and who may adopt it (T4).

use std::collections::BTreeSet;

use domain::tenancy::claim::{Claim, ClaimState};
use domain::tenancy::facts::{DatabaseFact, EntryFact, EntryOwner, RoleFact, ServerFacts};
use domain::tenancy::names::Uid;
use domain::tenancy::record::{Adopter, Living, adopt, contradictions, release, release_entry};
use domain::tenancy::registration::InstanceIdentity;
use domain::tenancy::tenant::{TenantDefinition, TenantDraft, TenantIdentity};

fn claim() -> Claim {
    Claim {
        cluster_uid: Uid::new("cluster"),
        tenant_uid: Uid::new("old"),
        instance_uid: Uid::new("instance"),
        namespace: "shop".into(),
        name: "app".into(),
        database: "app".into(),
        role: "app".into(),
        secret_name: "main-app-postgresql".into(),
        secret_path: "tenantry/shop/app".into(),
        role_oid: Some(10),
        database_oid: Some(20),
        extensions: vec!["pg_trgm".into()],
        applied_kv_version: Some(1),
        resent_age: None,
        state: ClaimState::Unmanaged,
        frozen_policy: None,
    }
}

fn server() -> ServerFacts {
    ServerFacts {
        role: Some(RoleFact {
            oid: 10,
            can_login: true,
            expired: false,
            superuser: false,
            comment_uid: Some(Uid::new("old")),
            admin_is_member: true,
        }),
        database: Some(DatabaseFact {
            oid: 20,
            owner_oid: 10,
            owned_by_admin: false,
            public_access: false,
            connectable: true,
            sessions: 0,
        }),
        ..ServerFacts::default()
    }
}

fn entry(data: &str, metadata: &str) -> EntryFact {
    EntryFact::Present {
        version: 1,
        data: Some(EntryOwner {
            tenant_uid: Uid::new(data),
            instance_uid: Uid::new("instance"),
            instance_name: "main".into(),
            database: "app".into(),
            role: "app".into(),
        }),
        metadata: Some(Uid::new(metadata)),
    }
}

fn definition() -> TenantDefinition {
    TenantDefinition::parse(&TenantDraft {
        name: "app",
        instance_ref: "main",
        database: None,
        login_role: None,
        extensions: vec!["pg_trgm"],
        secret_name: None,
        deletion_policy: "Retain",
    })
    .unwrap()
}

/// Adoption by the Tenant `new` of Instance `instance`.
fn adopted(
    claim: &Claim,
    living: &Living,
    server: &ServerFacts,
    entry: &EntryFact,
    definition: &TenantDefinition,
    by: (&str, &str),
) -> Result<domain::tenancy::record::Adoption, Vec<String>> {
    let identity = TenantIdentity {
        uid: Uid::new(by.0),
        namespace: "shop".into(),
        name: "app".into(),
    };
    let instance = InstanceIdentity {
        uid: Uid::new(by.1),
        name: "main".into(),
    };
    let adopter = Adopter {
        cluster_uid: &Uid::new("cluster"),
        tenant: &identity,
        definition,
        deleting: false,
        instance: &instance,
    };
    adopt(claim, living, server, entry, &adopter)
}

fn another() -> Living {
    Living::Another(Uid::new("new"))
}

#[test]
fn t4_only_a_managed_row_of_this_cluster_is_asked_for() {
    let (here, there) = (Uid::new("cluster"), Uid::new("another"));
    let in_state = |state| Claim { state, ..claim() };
    assert!(in_state(ClaimState::Managed).may_be_left_behind(&here));
    assert!(!in_state(ClaimState::Managed).may_be_left_behind(&there));
    for state in [ClaimState::Unmanaged, ClaimState::Deleting] {
        assert!(!in_state(state).may_be_left_behind(&here), "{state:?}");
    }
}

#[test]
fn t4_only_a_row_that_no_tenant_uses_is_released() {
    let (claim, server) = (claim(), server());
    assert!(release(&claim, &Living::Gone, &server).is_ok());
    assert!(release(&claim, &another(), &server).is_ok());
    assert!(release(&claim, &Living::Elsewhere, &server).is_ok());
    assert!(release(&claim, &Living::Same, &server).is_err());
    let managed = Claim {
        state: ClaimState::Managed,
        ..claim
    };
    assert!(release(&managed, &Living::Gone, &server).is_ok());
    assert!(release(&managed, &Living::Elsewhere, &server).is_err());
}

#[test]
fn t3_another_role_or_database_of_the_name_contradicts_and_a_dropped_one_does_not() {
    let claim = claim();
    assert!(contradictions(&claim, &server()).is_empty());
    assert!(contradictions(&claim, &ServerFacts::default()).is_empty());
    let mut restored = server();
    restored.role.as_mut().unwrap().oid = 11;
    restored.database.as_mut().unwrap().owner_oid = 11;
    assert!(
        contradictions(&claim, &restored).is_empty(),
        "the comment is the second witness"
    );
    let mut foreign = restored;
    foreign.role.as_mut().unwrap().comment_uid = None;
    foreign.database.as_mut().unwrap().oid = 21;
    assert_eq!(contradictions(&claim, &foreign).len(), 2);
    assert!(release(&claim, &Living::Gone, &foreign).is_err());
    let unmade = Claim {
        role_oid: None,
        database_oid: None,
        ..claim
    };
    let mut planted = server();
    planted.role.as_mut().unwrap().comment_uid = None;
    assert!(!contradictions(&unmade, &planted).is_empty());
}

#[test]
fn t3_an_entry_that_carries_another_uid_or_none_is_not_removed() {
    let claim = claim();
    assert!(release_entry(&claim, &EntryFact::Absent).is_ok());
    assert!(release_entry(&claim, &entry("old", "old")).is_ok());
    assert!(
        release_entry(
            &claim,
            &EntryFact::Deleted {
                metadata: Some(Uid::new("old"))
            }
        )
        .is_ok()
    );
    for foreign in [
        entry("old", "third"),
        entry("third", "old"),
        EntryFact::Deleted { metadata: None },
        EntryFact::Present {
            version: 1,
            data: None,
            metadata: None,
        },
    ] {
        assert!(release_entry(&claim, &foreign).is_err(), "{foreign:?}");
    }
}

#[test]
fn t4_a_new_uid_adopts_and_gives_up_the_old_one() {
    let adoption = adopted(
        &claim(),
        &another(),
        &server(),
        &entry("old", "old"),
        &definition(),
        ("new", "instance"),
    )
    .unwrap();
    assert_eq!(adoption.given_up, Uid::new("old"));
    assert!(adoption.entry);
    assert_eq!(adoption.owner.tenant_uid, Uid::new("new"));
    // An attempt that ended after the entry, or between its data and its metadata.
    for (half, rewritten) in [(entry("new", "new"), false), (entry("new", "old"), true)] {
        let again = adopted(
            &claim(),
            &another(),
            &server(),
            &half,
            &definition(),
            ("new", "instance"),
        )
        .unwrap();
        assert_eq!(again.entry, rewritten);
    }
}

#[test]
fn i1_a_recreated_instance_adopts_the_row_of_a_living_tenant_and_gives_up_the_old_instance() {
    let adoption = adopted(
        &claim(),
        &Living::Same,
        &server(),
        &entry("old", "old"),
        &definition(),
        ("old", "again"),
    )
    .unwrap();
    assert_eq!(adoption.given_up, Uid::new("instance"));
    assert!(adoption.entry);
}

#[test]
fn t4_what_speaks_against_an_adoption_is_all_told() {
    let usual = (
        &claim(),
        another(),
        &server(),
        entry("old", "old"),
        definition(),
    );
    let refused = |claim: &Claim,
                   living: &Living,
                   server: &ServerFacts,
                   entry: &EntryFact,
                   definition: &TenantDefinition| {
        adopted(
            claim,
            living,
            server,
            entry,
            definition,
            ("new", "instance"),
        )
        .unwrap_err()
    };
    let gone = ServerFacts::default();
    assert_eq!(
        refused(usual.0, &usual.1, &gone, &usual.3, &usual.4).len(),
        2
    );
    assert!(
        refused(usual.0, &usual.1, usual.2, &EntryFact::Absent, &usual.4)[0]
            .contains("write it back")
    );
    assert!(
        refused(usual.0, &usual.1, usual.2, &entry("third", "old"), &usual.4)[0].contains("third")
    );
    let deleting = Claim {
        state: ClaimState::Deleting,
        ..claim()
    };
    assert!(refused(&deleting, &usual.1, usual.2, &usual.3, &usual.4)[0].contains("being deleted"));
    let managed = Claim {
        state: ClaimState::Managed,
        ..claim()
    };
    assert!(
        refused(&managed, &Living::Elsewhere, usual.2, &usual.3, &usual.4)[0].contains("in use")
    );
    let mut unlike = definition();
    unlike.extensions = BTreeSet::new();
    assert!(refused(usual.0, &usual.1, usual.2, &usual.3, &unlike)[0].contains("pg_trgm"));
    let other = Claim {
        database: "other".into(),
        secret_name: "other".into(),
        ..claim()
    };
    assert_eq!(
        refused(&other, &usual.1, usual.2, &usual.3, &usual.4).len(),
        2
    );
}

#[test]
fn t4_a_record_that_is_the_tenants_own_is_not_adopted() {
    let refused = adopted(
        &claim(),
        &Living::Same,
        &server(),
        &entry("old", "old"),
        &definition(),
        ("old", "instance"),
    );
    assert!(refused.unwrap_err()[0].contains("nothing to adopt"));
}
