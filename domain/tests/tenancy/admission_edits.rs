//! Which edits are refused at `kubectl apply`, and which always pass (D3, D4, M1–M4).

use domain::tenancy::admission::{Change, Recorded, review_instance, review_tenant};
use domain::tenancy::endpoint::AddressPolicy;
use domain::tenancy::reason::Reason;
use domain::tenancy::registration::InstanceDraft;
use domain::tenancy::tenant::{TenantDraft, TenantPhase};
use domain::violation::{Kind, Verdict};

use crate::admission::{paths, tenant};
use crate::instance::draft as instance;

fn recorded(phase: TenantPhase) -> Recorded<'static> {
    Recorded {
        phase,
        database: Some("netbox"),
        login_role: Some("netbox"),
        secret_name: Some("shared-netbox-postgresql"),
        reason: Some(Reason::Ready),
    }
}

fn update(new: TenantDraft<'_>, recorded: Recorded<'_>) -> Verdict {
    let change = Change::Update {
        old: tenant(),
        new,
        recorded,
        deleting: false,
    };
    review_tenant(&change, None)
}

#[test]
fn d3_m1_each_immutable_field_may_be_corrected_up_to_planned_and_not_after() {
    let edits = [
        (
            "spec.instanceRef",
            TenantDraft {
                instance_ref: "other",
                ..tenant()
            },
        ),
        (
            "spec.database",
            TenantDraft {
                database: Some("other"),
                ..tenant()
            },
        ),
        (
            "spec.loginRole",
            TenantDraft {
                login_role: Some("other"),
                ..tenant()
            },
        ),
        (
            "spec.credential.secretName",
            TenantDraft {
                secret_name: Some("other"),
                ..tenant()
            },
        ),
        (
            "spec.extensions",
            TenantDraft {
                extensions: vec![],
                ..tenant()
            },
        ),
    ];
    for (path, edit) in edits {
        for phase in TenantPhase::ALL {
            let verdict = update(edit.clone(), recorded(*phase));
            match phase {
                TenantPhase::Pending | TenantPhase::Planned => {
                    assert!(verdict.is_allowed(), "{path}");
                }
                TenantPhase::Deleting => assert_eq!(paths(&verdict), ["spec"]),
                _ => {
                    assert!(
                        paths(&verdict).contains(&path),
                        "{path} in {phase:?}: {verdict:?}"
                    );
                    assert!(verdict.violations.iter().all(|v| v.kind == Kind::Immutable));
                }
            }
        }
    }
}

#[test]
fn d3_m1_spelling_the_default_out_or_dropping_it_again_is_no_change() {
    let spelled = TenantDraft {
        database: Some("netbox"),
        login_role: Some("netbox"),
        secret_name: Some("shared-netbox-postgresql"),
        ..tenant()
    };
    assert!(update(spelled.clone(), recorded(TenantPhase::Ready)).is_allowed());
    let change = Change::Update {
        old: spelled,
        new: tenant(),
        recorded: recorded(TenantPhase::Ready),
        deleting: false,
    };
    assert!(review_tenant(&change, None).is_allowed());
}

#[test]
fn d3_going_back_to_the_recorded_value_passes_whatever_the_stored_spec_says() {
    let broken = TenantDraft {
        database: Some("other"),
        login_role: Some("other"),
        secret_name: Some("other"),
        ..tenant()
    };
    let change = Change::Update {
        old: broken,
        new: tenant(),
        recorded: recorded(TenantPhase::Ready),
        deleting: false,
    };
    assert!(review_tenant(&change, None).is_allowed());
}

#[test]
fn m2_extensions_may_grow_and_be_reordered_but_not_shrink_unless_the_spec_is_invalid() {
    let grown = TenantDraft {
        extensions: vec!["hstore", "pg_trgm"],
        ..tenant()
    };
    assert!(update(grown, recorded(TenantPhase::Ready)).is_allowed());
    let shrunk = TenantDraft {
        extensions: vec![],
        ..tenant()
    };
    let verdict = update(shrunk.clone(), recorded(TenantPhase::Ready));
    assert_eq!(paths(&verdict), ["spec.extensions"]);
    assert!(verdict.violations[0].text.contains("pg_trgm"));
    let invalid = Recorded {
        reason: Some(Reason::InvalidSpec),
        ..recorded(TenantPhase::RoleCreated)
    };
    assert!(update(shrunk, invalid).is_allowed());
}

#[test]
fn m3_the_policy_may_change_until_deletion_begins() {
    let edit = TenantDraft {
        deletion_policy: "Delete",
        ..tenant()
    };
    for phase in TenantPhase::ALL {
        let allowed = *phase != TenantPhase::Deleting;
        assert_eq!(
            update(edit.clone(), recorded(*phase)).is_allowed(),
            allowed,
            "{phase:?}"
        );
        let change = Change::Update {
            old: tenant(),
            new: edit.clone(),
            recorded: recorded(*phase),
            deleting: true,
        };
        assert_eq!(paths(&review_tenant(&change, None)), ["spec"], "{phase:?}");
    }
}

#[test]
fn m3_a_change_to_delete_says_from_when_it_holds() {
    let edit = TenantDraft {
        deletion_policy: "Delete",
        ..tenant()
    };
    let warnings = update(edit.clone(), recorded(TenantPhase::Ready)).warnings;
    assert!(warnings[0].contains("destroys") && warnings[1].contains("status.observedGeneration"));
    let further = Change::Update {
        old: edit.clone(),
        new: TenantDraft {
            extensions: [edit.extensions.as_slice(), &["hstore"]].concat(),
            ..edit
        },
        recorded: recorded(TenantPhase::Ready),
        deleting: false,
    };
    assert_eq!(review_tenant(&further, None).warnings.len(), 1);
}

#[test]
fn d4_an_update_that_changes_no_spec_field_passes_though_the_object_is_illegal_today() {
    let illegal = TenantDraft {
        name: "my-app",
        database: Some("postgres"),
        ..tenant()
    };
    for deleting in [false, true] {
        let change = Change::Update {
            old: illegal.clone(),
            new: illegal.clone(),
            recorded: recorded(TenantPhase::Deleting),
            deleting,
        };
        assert_eq!(review_tenant(&change, Some("postgres")), Verdict::allowed());
        let mut draft = instance();
        draft.endpoint.host = "";
        let change = Change::Update {
            old: draft,
            new: draft,
            recorded: (),
            deleting,
        };
        assert_eq!(
            review_instance(&change, &AddressPolicy::default(), &[]),
            Verdict::allowed()
        );
    }
}

#[test]
fn d4_an_instance_may_be_edited_until_it_is_being_deleted() {
    let edited = InstanceDraft {
        secret_name: "another",
        ..instance()
    };
    for deleting in [false, true] {
        let change = Change::Update {
            old: instance(),
            new: edited,
            recorded: (),
            deleting,
        };
        let verdict = review_instance(&change, &AddressPolicy::default(), &[]);
        assert_eq!(verdict.is_allowed(), !deleting);
    }
}
