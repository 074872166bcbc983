//! Whatever is sent: no panic, and `allowed: true` only for a spec that the consumer's own parse accepts.

use crds::{PostgreSQLInstanceSpec, PostgreSQLTenantSpec};
use domain::tenancy::endpoint::AddressPolicy;
use domain::tenancy::registration::InstanceDefinition;
use domain::tenancy::tenant::TenantDefinition;
use proptest::prelude::*;
use serde_json::{Value, json};
use webhook::Route;

use crate::world::{Reply, World, fixture, set};

const CREATES: [(Route, &str); 2] = [
    (Route::Tenant, "tenant-create"),
    (Route::Instance, "instance-create"),
];

fn ask(route: Route, body: Vec<u8>) -> Reply {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(World::empty().post(route, body))
}

/// What a reconciler would make of the object in a review.
fn consumer_accepts(route: Route, body: &[u8]) -> bool {
    let Ok(review) = serde_json::from_slice::<Value>(body) else {
        return false;
    };
    let object = &review["request"]["object"];
    let spec = object["spec"].clone();
    match route {
        Route::Tenant => serde_json::from_value::<PostgreSQLTenantSpec>(spec).is_ok_and(|spec| {
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            TenantDefinition::parse(&spec.draft(name)).is_ok()
        }),
        Route::Instance => {
            serde_json::from_value::<PostgreSQLInstanceSpec>(spec).is_ok_and(|spec| {
                InstanceDefinition::parse(&spec.draft(), &AddressPolicy::default()).is_ok()
            })
        }
        Route::Application => panic!("no property here is about Applications"),
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        "[a-z_]{1,70}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-zA-Z]{1,8}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Every pointer into a JSON value.
fn pointers(value: &Value, here: &str, all: &mut Vec<String>) {
    all.push(here.to_owned());
    match value {
        Value::Object(fields) => fields
            .iter()
            .for_each(|(name, value)| pointers(value, &format!("{here}/{name}"), all)),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .for_each(|(n, value)| pointers(value, &format!("{here}/{n}"), all)),
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_are_never_allowed_and_never_panic(body in prop::collection::vec(any::<u8>(), 0..400), tenant: bool) {
        let reply = ask(if tenant { Route::Tenant } else { Route::Instance }, body);
        prop_assert_eq!(reply.status.as_u16(), 400, "{}", reply.text);
    }

    #[test]
    fn random_json_is_never_allowed_and_never_panics(request in any_json(), whole: bool) {
        let body = if whole { request } else {
            json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
        };
        let reply = ask(Route::Tenant, body.to_string().into_bytes());
        prop_assert!(!reply.allows());
        prop_assert_ne!(reply.status.as_u16(), 500);
    }

    #[test]
    fn a_review_with_one_value_replaced_is_allowed_only_if_its_consumer_accepts_it(
        value in any_json(), place in any::<prop::sample::Index>(), which in 0..2_usize,
    ) {
        let (route, name) = CREATES[which];
        let mut review = fixture(name);
        let mut places = Vec::new();
        pointers(&review, "", &mut places);
        let place = place.get(&places[1..]);
        set(&mut review, place, value);
        let body = review.to_string().into_bytes();
        let reply = ask(route, body.clone());
        prop_assert!(matches!(reply.status.as_u16(), 200 | 400), "{place}: {}", reply.text);
        prop_assert!(!reply.allows() || consumer_accepts(route, &body), "{place}: {}", reply.text);
    }

    #[test]
    fn a_review_with_bytes_replaced_is_allowed_only_if_its_consumer_accepts_it(
        at in any::<prop::sample::Index>(), remove in 0..20_usize, insert in prop::collection::vec(any::<u8>(), 0..20), which in 0..2_usize,
    ) {
        let (route, name) = CREATES[which];
        let mut body = fixture(name).to_string().into_bytes();
        let from = at.index(body.len());
        let to = (from + remove).min(body.len());
        body.splice(from..to, insert);
        let reply = ask(route, body.clone());
        prop_assert!(matches!(reply.status.as_u16(), 200 | 400), "{}", reply.text);
        prop_assert!(!reply.allows() || consumer_accepts(route, &body), "{}", reply.text);
    }
}
