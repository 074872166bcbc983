//! What form a new object must have at `kubectl apply`: path and remedy of each mistake (C1–C4, C8, D2, D11, D17).

use domain::tenancy::admission::{Change, review_instance, review_tenant};
use domain::tenancy::endpoint::{AddressPolicy, EndpointDraft};
use domain::tenancy::registration::InstanceDraft;
use domain::tenancy::tenant::{TenantDefinition, TenantDraft};
use domain::violation::{Kind, Verdict};

use crate::instance::draft as instance;

pub fn tenant() -> TenantDraft<'static> {
    TenantDraft {
        name: "netbox",
        instance_ref: "shared",
        database: None,
        login_role: None,
        extensions: vec!["pg_trgm"],
        secret_name: None,
        deletion_policy: "Retain",
    }
}

fn create(draft: TenantDraft<'_>) -> Verdict {
    review_tenant(&Change::Create(draft), Some("postgres"))
}

pub fn paths(verdict: &Verdict) -> Vec<&str> {
    verdict.violations.iter().map(|v| v.path.as_str()).collect()
}

#[test]
fn a_legal_tenant_and_a_legal_instance_are_allowed_without_warnings() {
    assert_eq!(create(tenant()), Verdict::allowed());
    let verdict = review_instance(&Change::Create(instance()), &AddressPolicy::default(), &[]);
    assert_eq!(verdict, Verdict::allowed());
}

#[test]
fn c3_a_name_that_eso_cannot_deliver_is_allowed_with_a_warning() {
    // shared- and -postgresql take 18 bytes of the 92.
    let (fits, too_long) = ("a".repeat(74), "a".repeat(75));
    let named = |name| TenantDraft {
        name,
        database: Some("a"),
        login_role: Some("a"),
        ..tenant()
    };
    assert_eq!(create(named(fits.as_str())), Verdict::allowed());
    let verdict = create(named(too_long.as_str()));
    assert!(verdict.is_allowed());
    assert!(
        verdict.warnings[0].contains("has 93 bytes"),
        "{:?}",
        verdict.warnings
    );
}

#[test]
fn c1_c2_each_field_of_a_tenant_is_refused_with_its_path_and_a_remedy() {
    let hostile = [
        "", "A", "my app", "а", "a\"b", "a'b", "a;b", "\u{0}", "-a", "ａ",
    ];
    for bad in hostile {
        let cases = [
            (
                "spec.instanceRef",
                TenantDraft {
                    instance_ref: bad,
                    ..tenant()
                },
            ),
            (
                "spec.database",
                TenantDraft {
                    database: Some(bad),
                    ..tenant()
                },
            ),
            (
                "spec.loginRole",
                TenantDraft {
                    login_role: Some(bad),
                    ..tenant()
                },
            ),
            (
                "spec.extensions[1]",
                TenantDraft {
                    extensions: vec!["a", bad],
                    ..tenant()
                },
            ),
            (
                "spec.credential.secretName",
                TenantDraft {
                    secret_name: Some(bad),
                    ..tenant()
                },
            ),
            (
                "spec.deletionPolicy",
                TenantDraft {
                    deletion_policy: bad,
                    ..tenant()
                },
            ),
        ];
        for (path, draft) in cases {
            let verdict = create(draft);
            assert_eq!(paths(&verdict), [path], "{bad:?}");
            assert!(
                verdict.violations[0].text.contains("must "),
                "{:?}",
                verdict.violations
            );
        }
    }
}

#[test]
fn c1_an_identifier_of_63_bytes_passes_and_one_of_64_does_not() {
    let (fits, long) = ("a".repeat(63), "a".repeat(64));
    assert!(
        create(TenantDraft {
            database: Some(&fits),
            ..tenant()
        })
        .is_allowed()
    );
    assert!(
        !create(TenantDraft {
            database: Some(&long),
            ..tenant()
        })
        .is_allowed()
    );
}

#[test]
fn c3_instance_ref_and_name_together_fit_241_bytes() {
    let name = "n".repeat(41);
    for (length, allowed) in [(200, true), (201, false)] {
        let reference = "i".repeat(length);
        let verdict = create(TenantDraft {
            name: &name,
            instance_ref: &reference,
            ..tenant()
        });
        assert_eq!(verdict.is_allowed(), allowed, "{length}");
        if !allowed {
            assert_eq!(paths(&verdict), ["spec.instanceRef"]);
            assert_eq!(verdict.violations[0].kind, Kind::TooLong);
            assert!(verdict.violations[0].text.contains("242"));
        }
    }
}

#[test]
fn c4_defaults_that_depend_on_other_fields_stay_out_of_the_spec_and_are_computed() {
    let definition = TenantDefinition::parse(&tenant()).unwrap();
    assert_eq!(definition.database.as_str(), "netbox");
    assert_eq!(definition.role.as_str(), "netbox");
    assert_eq!(definition.secret_name.as_str(), "shared-netbox-postgresql");
    assert_eq!(definition.projection_name, definition.secret_name);
}

#[test]
fn c8_a_name_that_is_no_identifier_is_refused_with_the_fields_to_set() {
    let verdict = create(TenantDraft {
        name: "my-app",
        ..tenant()
    });
    assert_eq!(paths(&verdict), ["spec.database", "spec.loginRole"]);
    for violation in &verdict.violations {
        assert!(violation.text.contains(&format!("set {}", violation.path)));
    }
    let spelled = TenantDraft {
        name: "my-app",
        database: Some("my_app"),
        login_role: Some("my_app"),
        ..tenant()
    };
    assert!(create(spelled).is_allowed());
}

#[test]
fn d2_reserved_names_are_refused_also_when_they_come_from_the_default() {
    for name in ["postgres", "template1", "rdsadmin"] {
        let verdict = create(TenantDraft {
            database: Some(name),
            ..tenant()
        });
        assert_eq!(paths(&verdict), ["spec.database"], "{name}");
    }
    for name in ["pg_x", "public", "none", "current_user", "azure_pg_admin"] {
        let verdict = create(TenantDraft {
            login_role: Some(name),
            ..tenant()
        });
        assert_eq!(paths(&verdict), ["spec.loginRole"], "{name}");
    }
    let verdict = create(TenantDraft {
        name: "postgres",
        ..tenant()
    });
    assert_eq!(paths(&verdict), ["spec.database", "spec.loginRole"]);
}

#[test]
fn d2_the_instances_management_database_is_refused_if_it_is_known() {
    let change = Change::Create(TenantDraft {
        database: Some("registry"),
        ..tenant()
    });
    assert_eq!(
        paths(&review_tenant(&change, Some("registry"))),
        ["spec.database"]
    );
    assert!(
        review_tenant(&change, None).is_allowed(),
        "the controller judges again"
    );
}

#[test]
fn d2_an_instances_management_database_may_not_be_a_tenants() {
    let mut draft = instance();
    draft.endpoint.database = "netbox";
    let claimed = [("team/netbox".to_owned(), "netbox".to_owned())];
    let verdict = review_instance(&Change::Create(draft), &AddressPolicy::default(), &claimed);
    assert_eq!(paths(&verdict), ["spec.endpoint.database"]);
    assert!(verdict.violations[0].text.contains("team/netbox"));
}

#[test]
fn extensions_are_at_most_64_and_each_stands_once() {
    let names: Vec<String> = (0..65).map(|n| format!("e{n}")).collect();
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    let most = TenantDraft {
        extensions: all[..64].to_vec(),
        ..tenant()
    };
    assert!(create(most).is_allowed());
    assert_eq!(
        paths(&create(TenantDraft {
            extensions: all,
            ..tenant()
        })),
        ["spec.extensions"]
    );
    let twice = TenantDraft {
        extensions: vec!["a", "a"],
        ..tenant()
    };
    assert_eq!(paths(&create(twice)), ["spec.extensions[1]"]);
}

#[test]
fn all_violations_are_collected() {
    let verdict = create(TenantDraft {
        name: "My",
        instance_ref: "",
        database: Some("A"),
        login_role: None,
        extensions: vec!["A", "B"],
        secret_name: Some("_"),
        deletion_policy: "",
    });
    assert_eq!(verdict.violations.len(), 7, "{verdict:?}");
}

#[test]
fn a_policy_that_destroys_and_a_mode_below_verify_full_are_warned_of() {
    let verdict = create(TenantDraft {
        deletion_policy: "Delete",
        ..tenant()
    });
    assert!(verdict.is_allowed() && verdict.warnings[0].contains("destroys database netbox"));
    for ssl_mode in ["disable", "require", "verify-ca"] {
        let endpoint = EndpointDraft {
            ssl_mode,
            ..instance().endpoint
        };
        let change = Change::Create(InstanceDraft {
            endpoint,
            ..instance()
        });
        let verdict = review_instance(&change, &AddressPolicy::default(), &[]);
        assert!(verdict.is_allowed(), "never silently changed");
        assert!(
            verdict.warnings[0].contains("use verify-full"),
            "{ssl_mode}"
        );
    }
}

#[test]
fn d11_d17_an_instance_with_a_bad_host_or_address_is_refused_with_the_field() {
    for (host, hostaddr, path) in [
        ("PG.home", "192.0.2.1", "spec.endpoint.host"),
        ("pg.home", "::ffff:192.0.2.1", "spec.endpoint.hostaddr"),
        ("pg.home", "169.254.169.254", "spec.endpoint.hostaddr"),
    ] {
        let endpoint = EndpointDraft {
            host,
            hostaddr,
            ..instance().endpoint
        };
        let change = Change::Create(InstanceDraft {
            endpoint,
            ..instance()
        });
        let verdict = review_instance(&change, &AddressPolicy::default(), &[]);
        assert_eq!(paths(&verdict), [path]);
    }
}
