//! The table of wrong specs: each field of both kinds empty, too long, of the wrong type, reserved, with a Cyrillic look-alike, with
//! quotes, out of range or missing.
//!
//! It says what must be answered; applying it is the matter of `refused`.

use serde_json::{Value, json};

const IDENTIFIER: &str = "must be a PostgreSQL identifier: a lower-case letter, then lower-case letters, digits or underscores, at most 63 bytes";
const EXTENSION: &str = "must be an extension's name: a lower-case letter, then lower-case letters, digits, underscores or dashes, at most 63 bytes";
const REFERENCE: &str = "must be the name of a PostgreSQLInstance: a lower-case DNS subdomain";
const TARGET: &str = "must be a Secret's name: a lower-case DNS subdomain of at most 253 bytes";
const ADMIN: &str = "must be the name of a Secret in the controller's namespace: a lower-case DNS subdomain of at most 253 bytes";
const KEY: &str = "must be a key of a Secret: letters, digits, '-', '_' or '.', at most 253 bytes";
const HOST: &str = "must be a lower-case DNS name that the server's certificate covers, not an address; put the address into hostaddr";
const ADDRESS: &str =
    "must be one IPv4 or IPv6 address (no name, no port, no IPv4-mapped IPv6 address)";

/// A spec with one mistake.
pub struct Mistake {
    /// Kind of the object.
    pub kind: &'static str,
    /// The field as kubectl shows it.
    pub path: String,
    /// The whole spec.
    pub spec: Value,
    /// What must be said about it: part of the message, with the remedy.
    pub says: &'static str,
}

/// The whole table.
pub fn mistakes() -> Vec<Mistake> {
    let tenant = json!({"instanceRef": "main", "credential": {}});
    let tenant = Table {
        kind: "PostgreSQLTenant",
        legal: tenant,
    };
    let endpoint = json!({"host": "pg.example", "hostaddr": "192.0.2.1"});
    let instance = json!({"endpoint": endpoint, "adminCredentialRef": {"name": "admin"}});
    let instance = Table {
        kind: "PostgreSQLInstance",
        legal: instance,
    };
    let mut all = tenant_names(&tenant);
    all.extend(tenant_lists(&tenant));
    all.extend(instance_endpoint(&instance));
    all.extend(instance_admin(&instance));
    all
}

/// A kind and a legal spec of it, of which one field at a time is made wrong.
struct Table {
    kind: &'static str,
    legal: Value,
}

impl Table {
    /// One mistake for each of the values in turn at a path such as `endpoint.host`; `null` leaves the field out.
    fn wrong(&self, path: &str, says: &'static str, values: &[Value]) -> Vec<Mistake> {
        let set = |value: &Value| {
            let mut spec = self.legal.clone();
            let (parent, field) = path
                .rsplit_once('.')
                .map_or(("", path), |(parent, field)| (parent, field));
            let pointer = if parent.is_empty() {
                String::new()
            } else {
                format!("/{parent}")
            };
            let parent = spec.pointer_mut(&pointer).unwrap().as_object_mut().unwrap();
            parent.insert(field.to_owned(), value.clone());
            Mistake {
                kind: self.kind,
                path: format!("spec.{path}"),
                spec,
                says,
            }
        };
        values.iter().map(set).collect()
    }

    /// Empty, a Cyrillic look-alike, quotes of each kind, upper case, a blank: illegal in every name.
    fn hostile(&self, path: &str, says: &'static str) -> Vec<Mistake> {
        let values = [
            "", "mаin", "ma'in", "ma\"in", "`main`", "ma in", "main;--", "main\n",
        ]
        .map(Value::from);
        self.wrong(path, says, &values)
    }

    fn wrong_type(&self, path: &str) -> Vec<Mistake> {
        self.wrong(
            path,
            "must be of type",
            &[json!(7), json!(["main"]), json!(true)],
        )
    }

    fn too_long(&self, path: &str, most: usize) -> Vec<Mistake> {
        self.wrong(path, "may not be more than", &[json!("a".repeat(most + 1))])
    }

    fn missing(&self, path: &str) -> Vec<Mistake> {
        self.wrong(path, "Required value", &[Value::Null])
    }
}

fn tenant_names(table: &Table) -> Vec<Mistake> {
    let mut all = Vec::new();
    for (path, most, says) in [
        ("instanceRef", 240, REFERENCE),
        ("database", 63, IDENTIFIER),
        ("loginRole", 63, IDENTIFIER),
        ("credential.secretName", 253, TARGET),
    ] {
        all.extend(table.hostile(path, says));
        all.extend(table.wrong_type(path));
        all.extend(table.too_long(path, most));
        all.extend(table.wrong(path, says, &[json!("Main")]));
    }
    all.extend(table.missing("instanceRef"));
    all.extend(table.wrong(
        "instanceRef",
        "at most 241 fit into <instanceRef>-<name>-postgresql: choose a shorter name",
        &[json!("a".repeat(239))],
    ));
    let databases = [
        "postgres",
        "template0",
        "template1",
        "rdsadmin",
        "cloudsqladmin",
        "pgbouncer",
    ]
    .map(Value::from);
    all.extend(table.wrong(
        "database",
        "is reserved; choose another name for database",
        &databases,
    ));
    let roles = [
        "postgres",
        "pg_monitor",
        "pg_x",
        "public",
        "none",
        "current_user",
        "rds_superuser",
    ]
    .map(Value::from);
    all.extend(table.wrong(
        "loginRole",
        "is reserved; choose another name for loginRole",
        &roles,
    ));
    all
}

fn tenant_lists(table: &Table) -> Vec<Mistake> {
    let mut all = Vec::new();
    for name in [
        "",
        "citеxt",
        "ci'text",
        "ci\"text",
        "Citext",
        "citext 1.6",
        "citext;--",
    ] {
        all.extend(table.wrong("extensions", EXTENSION, &[json!(["hstore", name])]));
    }
    all.extend(table.wrong(
        "extensions",
        "may not be more than",
        &[json!(["a".repeat(64)])],
    ));
    let many: Vec<String> = (0..65).map(|number| format!("e{number}")).collect();
    all.extend(table.wrong("extensions", "must have at most 64 items", &[json!(many)]));
    all.extend(table.wrong(
        "extensions",
        "Duplicate value: \"citext\"",
        &[json!(["citext", "citext"])],
    ));
    all.extend(table.wrong(
        "extensions",
        "must be of type",
        &[json!("citext"), json!([7])],
    ));
    all.extend(table.wrong(
        "credential",
        "must be of type",
        &[json!("my-secret"), json!(["my-secret"])],
    ));
    all.extend(table.wrong(
        "deletionPolicy",
        "supported values: \"Retain\", \"Delete\"",
        &["", "Keep", "delete", "Dеlete"].map(Value::from),
    ));
    all.extend(table.wrong(
        "deletionPolicy",
        "must be of type",
        &[json!(1), json!(false)],
    ));
    all
}

fn instance_endpoint(table: &Table) -> Vec<Mistake> {
    let mut all = table.hostile("endpoint.host", HOST);
    all.extend(table.wrong(
        "endpoint.host",
        HOST,
        &["PG.example", "192.0.2.1", "pg_1.example", "pg.example:5432"].map(Value::from),
    ));
    all.extend(table.too_long("endpoint.host", 253));
    all.extend(table.hostile("endpoint.hostaddr", ADDRESS));
    let addresses = [
        "pg.example",
        "192.0.2.1:5432",
        "::ffff:192.0.2.1",
        "192.0.2.256",
        "192.0.2.1/32",
        "fe80::1%eth0",
    ];
    all.extend(table.wrong("endpoint.hostaddr", ADDRESS, &addresses.map(Value::from)));
    let denied = [
        "169.254.169.254",
        "fe80::1",
        "224.0.0.1",
        "ff02::1",
        "0.0.0.0",
        "::",
    ];
    all.extend(table.wrong(
        "endpoint.hostaddr",
        "use the server's own unicast address",
        &denied.map(Value::from),
    ));
    all.extend(table.too_long("endpoint.hostaddr", 45));
    all.extend(table.hostile("endpoint.database", IDENTIFIER));
    all.extend(table.too_long("endpoint.database", 63));
    for path in [
        "endpoint.host",
        "endpoint.hostaddr",
        "endpoint.database",
        "endpoint.sslMode",
    ] {
        all.extend(table.wrong_type(path));
    }
    all.extend(table.wrong(
        "endpoint.port",
        "should be greater than or equal to 1",
        &[json!(0), json!(-1)],
    ));
    all.extend(table.wrong(
        "endpoint.port",
        "should be less than or equal to 65535",
        &[json!(65536)],
    ));
    all.extend(table.wrong(
        "endpoint.port",
        "must be of type",
        &[json!("5432"), json!(1.5), json!([5432])],
    ));
    let modes = ["", "prefer", "Verify-Full", "verify-fulI"].map(Value::from);
    all.extend(table.wrong(
        "endpoint.sslMode",
        "supported values: \"disable\", \"require\", \"verify-ca\", \"verify-full\"",
        &modes,
    ));
    for path in ["endpoint", "endpoint.host", "endpoint.hostaddr"] {
        all.extend(table.missing(path));
    }
    all
}

fn instance_admin(table: &Table) -> Vec<Mistake> {
    let mut all = Vec::new();
    for (path, says) in [
        ("adminCredentialRef.name", ADMIN),
        ("adminCredentialRef.usernameKey", KEY),
        ("adminCredentialRef.passwordKey", KEY),
    ] {
        all.extend(table.hostile(path, says));
        all.extend(table.wrong_type(path));
        all.extend(table.too_long(path, 253));
    }
    all.extend(table.wrong(
        "adminCredentialRef.name",
        ADMIN,
        &[json!("Admin"), json!("other/admin")],
    ));
    all.extend(table.wrong(
        "adminCredentialRef.passwordKey",
        KEY,
        &[json!("."), json!("..x")],
    ));
    all.extend(table.missing("adminCredentialRef"));
    all.extend(table.missing("adminCredentialRef.name"));
    all
}
