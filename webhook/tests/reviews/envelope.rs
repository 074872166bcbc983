//! Reviews that are no question to this webhook, or whose parts cannot be read.

use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use serde_json::json;
use webhook::Route;

use crate::world::{World, fixture, remove, with};

#[tokio::test]
async fn h5_method_path_media_type_and_encoding_are_checked() {
    let world = World::empty();
    let good = fixture("tenant-create").to_string();
    let path = Route::Tenant.path();
    let request = |method: &str, path: &str, headers: &[(header::HeaderName, &str)]| {
        let build = Request::builder().method(method).uri(path);
        let build = headers
            .iter()
            .fold(build, |build, (name, value)| build.header(name, *value));
        build.body(Body::from(good.clone())).unwrap()
    };
    let json = (header::CONTENT_TYPE, "application/json");
    let with_encoding = |encoding| [json.clone(), (header::CONTENT_ENCODING, encoding)];
    let cases = [
        (request("GET", path, std::slice::from_ref(&json)), 405),
        (request("PUT", path, std::slice::from_ref(&json)), 405),
        (
            request("POST", "/validate", std::slice::from_ref(&json)),
            404,
        ),
        (
            request("POST", &format!("{path}/"), std::slice::from_ref(&json)),
            404,
        ),
        (request("POST", path, &[]), 415),
        (
            request("POST", path, &[(header::CONTENT_TYPE, "text/json")]),
            415,
        ),
        (
            request("POST", path, &[(header::CONTENT_TYPE, "application/jsonx")]),
            415,
        ),
        (request("POST", path, &with_encoding("gzip")), 415),
        (request("POST", path, &with_encoding("identity")), 200),
        (
            request(
                "POST",
                path,
                &[(header::CONTENT_TYPE, "Application/JSON; charset=utf-8")],
            ),
            200,
        ),
    ];
    for (request, status) in cases {
        let line = format!(
            "{} {} {:?}",
            request.method(),
            request.uri(),
            request.headers()
        );
        let reply = world.send(request).await;
        assert_eq!(reply.status.as_u16(), status, "{line}");
        assert_eq!(reply.allows(), status == 200, "{line}");
    }
}

#[tokio::test]
async fn h5_empty_truncated_and_foreign_bodies_are_400() {
    let world = World::empty();
    let good = fixture("tenant-create").to_string();
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let mut bodies: Vec<Vec<u8>> = [
        &b""[..],
        b"   ",
        b"null",
        b"{}",
        b"[]",
        b"\"x\"",
        b"1e400",
        b"\0",
        b"\xff\xfe{}",
    ]
    .map(<[u8]>::to_vec)
    .to_vec();
    bodies.push(deep.into_bytes());
    bodies.push(good.replace("netbox_app", "net\0box").into_bytes());
    bodies.push([good.as_bytes(), b"{}"].concat());
    bodies.push(good.replace("netbox_app", "net\u{1}box").into_bytes());
    let mut invalid = good.clone().into_bytes();
    let place = good.find("netbox_app").unwrap();
    invalid[place] = 0xff;
    bodies.push(invalid);
    for cut in (1..good.len()).step_by(17) {
        bodies.push(good.as_bytes()[..cut].to_vec());
    }
    for body in bodies {
        let shown = String::from_utf8_lossy(&body[..body.len().min(60)]).into_owned();
        let reply = world.post(Route::Tenant, body).await;
        assert_eq!(
            reply.status,
            StatusCode::BAD_REQUEST,
            "{shown}: {}",
            reply.text
        );
    }
}

#[tokio::test]
async fn h6_a_wrong_envelope_is_400_with_a_plain_reason() {
    let mut cases = vec![
        (
            with(
                "tenant-create",
                "/apiVersion",
                json!("admission.k8s.io/v1beta1"),
            ),
            "admission.k8s.io/v1",
        ),
        (
            with("tenant-create", "/apiVersion", json!("admission.k8s.io/v9")),
            "admission.k8s.io/v1",
        ),
        (
            with("tenant-create", "/apiVersion", json!(1)),
            "admission.k8s.io/v1",
        ),
        (
            with("tenant-create", "/kind", json!("Review")),
            "AdmissionReview",
        ),
        (
            with(
                "tenant-create",
                "/response",
                json!({"uid": "x", "allowed": true}),
            ),
            "already has a response",
        ),
        (with("tenant-create", "/request", json!(null)), "no request"),
        (
            with("tenant-create", "/request", json!(["x"])),
            "JSON object",
        ),
        (
            with("tenant-create", "/request/uid", json!("")),
            "request.uid",
        ),
        (
            with("tenant-create", "/request/uid", json!(null)),
            "request.uid",
        ),
        (
            with("tenant-create", "/request/uid", json!(["x"])),
            "request.uid",
        ),
        (
            with(
                "tenant-create",
                "/request/uid",
                json!("u".repeat(webhook::UID_MAX + 1)),
            ),
            "request.uid",
        ),
        (
            with("tenant-create", "/request/uid", json!("u".repeat(4096))),
            "request.uid",
        ),
    ];
    for field in ["/apiVersion", "/kind", "/request", "/request/uid"] {
        let mut review = fixture("tenant-create");
        remove(&mut review, field);
        cases.push((review, ""));
    }
    let world = World::empty();
    for (review, reason) in cases {
        let reply = world.post(Route::Tenant, review.to_string()).await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{}", reply.text);
        assert!(
            reply.text.contains(reason) && reply.text.len() < 200,
            "{}",
            reply.text
        );
    }
    let longest = "u".repeat(webhook::UID_MAX);
    let reply = world
        .ask(&with("tenant-create", "/request/uid", json!(longest)))
        .await;
    reply.assert_allowed();
    assert_eq!(reply.response()["uid"], longest);
}

#[tokio::test]
async fn h6_a_field_that_stands_twice_is_refused() {
    let good = fixture("tenant-create").to_string();
    let world = World::empty();
    for (field, twice) in [
        ("\"uid\":\"705ab", "\"uid\":\"x\",\"uid\":\"705ab"),
        ("\"request\":", "\"request\":{},\"request\":"),
        ("\"spec\":", "\"spec\":{},\"spec\":"),
    ] {
        let body = good.replacen(field, twice, 1);
        assert_ne!(body, good);
        assert!(!world.post(Route::Tenant, body).await.allows(), "{field}");
    }
}

#[tokio::test]
async fn h41_what_was_not_registered_is_denied() {
    let world = World::empty();
    for case in fixture("not-registered").as_array().unwrap() {
        let [name, field, value, part] = case.as_array().unwrap().as_slice() else {
            panic!("{case}")
        };
        let name = name.as_str().unwrap();
        let route = if name.starts_with("tenant") {
            Route::Tenant
        } else {
            Route::Instance
        };
        let review = with(
            name,
            &format!("/request/{}", field.as_str().unwrap()),
            value.clone(),
        );
        let reply = world.post(route, review.to_string()).await;
        reply.assert_unreadable(part.as_str().unwrap());
        assert_eq!(reply.response()["uid"], review["request"]["uid"]);
    }
    let (tenant, instance) = (
        fixture("tenant-create").to_string(),
        fixture("instance-create").to_string(),
    );
    world
        .post(Route::Instance, tenant)
        .await
        .assert_unreadable("request.kind");
    world
        .post(Route::Tenant, instance)
        .await
        .assert_unreadable("request.kind");
}

#[tokio::test]
async fn an_object_that_cannot_be_read_is_denied_with_the_requests_uid() {
    let cases = [
        ("", json!(null)),
        ("", json!([])),
        ("", json!("x")),
        ("", json!({})),
        ("/apiVersion", json!("database.ddupan.top/v2")),
        ("/kind", json!("Pod")),
        ("/metadata", json!(null)),
        ("/metadata", json!(["netbox"])),
        ("/metadata/name", json!("")),
        ("/metadata/name", json!(5)),
        ("/metadata/namespace", json!({})),
        ("/spec", json!(null)),
    ];
    let world = World::empty();
    for object in ["request.object", "request.oldObject"] {
        for (pointer, value) in &cases {
            let whole = format!("/{}{pointer}", object.replace('.', "/"));
            let review = with("tenant-update-created", &whole, value.clone());
            let reply = world.ask(&review).await;
            // A spec of null is there, but no object: the wanted one is invalid, the stored one cannot be compared with.
            match reply.response()["status"]["code"].as_u64() {
                Some(422) => assert_eq!(whole, "/request/object/spec"),
                _ => reply.assert_unreadable(object),
            }
            assert_eq!(reply.response()["uid"], review["request"]["uid"]);
        }
    }
    let mut review = fixture("tenant-update-created");
    remove(&mut review, "/request/object/spec");
    world.ask(&review).await.assert_unreadable("request.object");
    let review = with(
        "tenant-update-created",
        "/request/oldObject/status/phase",
        json!(7),
    );
    world
        .ask(&review)
        .await
        .assert_unreadable("request.oldObject: status");
}
