//! Edits that got past admission, and their cure (D3, D9, M1, M2, M4, T6).

use domain::tenancy::admission::{Change, Recorded, review_tenant};
use domain::tenancy::reason::Retry;
use domain::tenancy::tenant::{TenantPhase, TenantStatus};

use crate::world::{Object, World, uid};

/// A field, and an edit of it.
type Edit = (&'static str, fn(&mut Object));

/// An edit of each immutable field.
const EDITS: &[Edit] = &[
    ("spec.database", |object| {
        object.database = Some("other".to_owned());
    }),
    ("spec.loginRole", |object| {
        object.role = Some("other".to_owned());
    }),
    ("spec.credential.secretName", |object| {
        object.secret_name = Some("other".to_owned());
    }),
    ("spec.extensions", |object| object.extensions.clear()),
];

/// What the webhook says of the edit that undoes `change`.
fn undoing_passes(world: &World, change: fn(&mut Object)) -> bool {
    let status = &world.object.status;
    let mut broken = World::new().object;
    change(&mut broken);
    let good = World::new().object;
    let change = Change::Update {
        old: broken.draft(),
        new: good.draft(),
        recorded: Recorded {
            phase: status.phase,
            database: status.database.as_deref(),
            login_role: status.login_role.as_deref(),
            secret_name: status.secret_name.as_deref(),
            reason: status.ready.as_ref().map(|ready| ready.reason),
        },
        deleting: false,
    };
    review_tenant(&change, None).is_allowed()
}

#[test]
fn m4_an_immutable_edit_that_got_through_is_immutable_field_and_changes_nothing_outside() {
    for (field, edit) in EDITS {
        for wiped in [false, true] {
            let mut world = World::converged();
            if wiped {
                world.object.status = TenantStatus::default();
            }
            world.object.edit(*edit);
            assert_eq!(world.run().retry, Retry::Slow);
            assert_eq!(world.reason(), "ImmutableField", "{field} {wiped}");
            assert!(world.message().contains(field), "{}", world.message());
            assert_eq!(world.trace.len(), 1, "{:?}", world.trace);
        }
    }
}

#[test]
fn d3_going_back_to_the_recorded_value_always_passes_and_cures_it_in_every_phase() {
    for (field, edit) in EDITS {
        for phase in TenantPhase::ALL {
            for names in [true, false] {
                let mut world = World::converged();
                world.object.status.phase = *phase;
                if !names {
                    // Someone wiped or forged the recorded names as well.
                    let mut forged = world.object.clone();
                    edit(&mut forged);
                    world.object.status.database =
                        Some(forged.draft().effective_database().to_owned());
                    world.object.status.login_role =
                        Some(forged.draft().effective_login_role().to_owned());
                    world.object.status.secret_name = Some(forged.draft().effective_secret_name());
                }
                world.object.edit(*edit);
                world.converge();
                let what = format!("{field} in {phase:?}");
                assert_eq!(world.reason(), "ImmutableField", "{what}");
                assert!(
                    undoing_passes(&world, *edit),
                    "{what}: {:?}",
                    world.object.status
                );
                let good = World::new().object;
                world.object.edit(|object| {
                    object.database = good.database;
                    object.role = good.role;
                    object.secret_name = good.secret_name;
                    object.extensions = good.extensions;
                });
                world.converge();
                assert!(world.is_ready(), "{what}");
                assert_eq!((world.passwords, world.created_databases), (1, 1), "{what}");
            }
        }
    }
}

#[test]
fn d3_no_phase_after_the_claim_records_a_name_that_was_edited_meanwhile() {
    let mut creating = World::new();
    for _ in 0..20 {
        if creating.row().is_some() {
            let mut world = creating.clone();
            world
                .object
                .edit(|object| object.database = Some("other".to_owned()));
            for _ in 0..3 {
                world.round();
                let recorded = world.object.status.database.as_deref();
                assert_eq!(recorded, Some("netbox"), "in {:?}", creating.phase());
            }
        }
        if creating.round().is_some() {
            creating.tick();
        }
    }
    assert!(creating.is_ready());
}

#[test]
fn m1_spelling_the_defaults_out_is_no_change() {
    let mut world = World::converged();
    world.object.edit(|object| {
        object.database = Some("netbox".to_owned());
        object.role = Some("netbox".to_owned());
        object.secret_name = Some("shared-netbox-postgresql".to_owned());
    });
    world.converge();
    assert!(world.is_ready());
    assert_eq!(
        world.trace,
        ["tenant.status.ready"],
        "only observedGeneration"
    );
}

#[test]
fn d3_m4_after_the_claim_the_controller_judges_by_the_claim_though_the_phase_is_planned() {
    let mut world = World::new();
    while world.row().is_none() {
        world.round();
    }
    assert_eq!(world.phase(), TenantPhase::Planned);
    world
        .object
        .edit(|object| object.database = Some("other".to_owned()));
    world.run();
    assert_eq!(world.reason(), "ImmutableField");
    world.object.edit(|object| object.database = None);
    world.converge();
    assert!(world.is_ready());
}

/// Moves the Tenant's spec to another Instance, which is another server or the same one.
fn moved(same_server: bool, phase: TenantPhase) -> World {
    let mut world = World::converged();
    world.object.status.phase = phase;
    world
        .object
        .edit(|object| object.instance_ref = "second".to_owned());
    world.instance_name = "second".to_owned();
    world.instance_uid = uid("second-instance");
    if !same_server {
        world.rows.clear();
        world.roles.clear();
        world.databases.clear();
    }
    world
}

#[test]
fn d9_m4_an_edited_instance_ref_is_immutable_field_on_another_server_and_on_the_same_one() {
    for same_server in [true, false] {
        for phase in TenantPhase::ALL {
            let mut world = moved(same_server, *phase);
            world.converge();
            let what = format!("{phase:?}, same server: {same_server}");
            assert_eq!(
                world.reason(),
                "ImmutableField",
                "{what}: {}",
                world.message()
            );
            assert!(world.message().contains("created on shared"), "{what}");
            assert!(
                world.trace.iter().all(|id| id.starts_with("tenant.status")),
                "{what}"
            );
        }
    }
}

#[test]
fn d9_m4_setting_instance_ref_back_cures_it_without_a_new_password() {
    let mut world = moved(true, TenantPhase::Ready);
    world.converge();
    world
        .object
        .edit(|object| object.instance_ref = "shared".to_owned());
    world.instance_name = "shared".to_owned();
    world.instance_uid = uid("instance-uid");
    world.converge();
    assert!(world.is_ready());
    assert_eq!((world.passwords, world.created_databases), (1, 1));
}

#[test]
fn m2_an_installed_extension_may_not_be_removed_and_is_never_dropped() {
    let mut world = World::converged();
    world.object.edit(|object| object.extensions.clear());
    world.run();
    assert_eq!(world.reason(), "ImmutableField");
    assert!(world.databases["netbox"].extensions.contains("pg_trgm"));
}

#[test]
fn t6_an_extension_that_is_not_installable_is_invalid_spec_before_anything_is_written() {
    let mut world = World::new();
    world.refuse("pg_trgm");
    assert_eq!(
        world.run().retry,
        Retry::Slow,
        "looked at again on the slow timer"
    );
    assert_eq!(
        (world.reason(), world.phase()),
        ("InvalidSpec", TenantPhase::Pending)
    );
    assert!(
        world
            .message()
            .contains("pg_trgm is not available on this server")
    );
    assert!(world.leftovers().is_empty());
    world.refused.clear();
    world.converge();
    assert!(world.is_ready());
}

#[test]
fn m2_t6_an_appended_extension_that_is_not_installable_is_invalid_spec_and_removable() {
    let mut world = World::converged();
    world.refuse("nosuch");
    let append: fn(&mut Object) = |object| object.extensions.push("nosuch".to_owned());
    world.object.edit(append);
    world.run();
    assert_eq!(world.reason(), "InvalidSpec");
    assert!(
        undoing_passes(&world, append),
        "while the reason is InvalidSpec"
    );
    world.run();
    let tries = world
        .trace
        .iter()
        .filter(|id| **id == "tenant.extension")
        .count();
    assert_eq!(tries, 2, "the attempt decides, once a round");
    world
        .object
        .edit(|object| object.extensions.retain(|name| name != "nosuch"));
    world.converge();
    assert!(world.is_ready());
}

#[test]
fn m2_while_invalid_spec_an_installed_extension_that_is_removed_is_still_immutable_field() {
    let mut world = World::converged();
    world.refuse("nosuch");
    world
        .object
        .edit(|object| object.extensions = vec!["pg_trgm".to_owned(), "nosuch".to_owned()]);
    world.run();
    assert_eq!(world.reason(), "InvalidSpec");
    world.object.edit(|object| object.extensions.clear());
    world.run();
    assert_eq!(world.reason(), "ImmutableField");
}

#[test]
fn a_wiped_status_does_not_make_an_installed_extension_invalid_that_the_server_lists_no_more() {
    let mut world = World::converged();
    world.refuse("pg_trgm");
    world.object.status = TenantStatus::default();
    world.converge();
    assert!(world.is_ready());
}

#[test]
fn d2_the_admins_role_and_the_management_database_are_invalid_spec_without_naming_the_admin() {
    let mut world = World::new();
    world.object.role = Some("admin".to_owned());
    world.run();
    assert_eq!(world.reason(), "InvalidSpec");
    assert_eq!(
        world.message(),
        "spec.loginRole is reserved on this Instance: choose another"
    );
    assert!(world.leftovers().is_empty());
    world.object.edit(|object| object.role = None);
    world.converge();
    assert!(world.is_ready());
}

#[test]
fn c7_a_forged_deleting_phase_does_not_freeze_a_spec_that_must_be_cured() {
    let mut world = World::new();
    world.plant_role();
    world.object.status.phase = TenantPhase::Deleting;
    world.instance = crate::world::InstanceState::Absent;
    world.run();
    assert_eq!(
        world.phase(),
        TenantPhase::Pending,
        "the spec is editable again"
    );
}
