//! The keys of the delivered Secret (D7) as templates of ESO's engine v2.
//!
//! The only value that ESO fills in is the password; it is encoded here for every format, since a password written by hand may
//! hold anything. `uri` and `jdbc-uri` carry the host name alone: `hostaddr` in a URI is understood by libpq and breaks
//! clients that pass unknown parameters on to the server. A client that dials by address takes the key `hostaddr`.

use serde_json::{Map, Value};

use super::Intent;

/// The name under which ESO hands the password to the templates, and its key in the Secret.
pub(super) const PASSWORD: &str = "password";

/// Percent-encoded, with a space as `%20`: a plus sign means a space in a form, not in a URI.
const IN_URI: &str = r#"{{ .password | urlquery | replace "+" "%20" }}"#;
/// Colon and backslash escaped as libpq's password file wants it.
const IN_PGPASS: &str = r#"{{ .password | replace "\\" "\\\\" | replace ":" "\\:" }}"#;

/// `spec.target.template.data`.
pub(super) fn data(intent: &Intent) -> Value {
    let Intent {
        endpoint,
        database,
        role,
        ..
    } = intent;
    let (host, port, mode) = (endpoint.host(), endpoint.port(), endpoint.ssl_mode());
    let keys = [
        ("type", "postgresql".to_owned()),
        ("provider", "tenantry".to_owned()),
        ("username", literal(role)),
        (PASSWORD, "{{ .password }}".to_owned()),
        ("host", literal(host)),
        ("hostaddr", endpoint.hostaddr().to_string()),
        ("port", port.to_string()),
        ("database", literal(database)),
        ("sslmode", mode.to_string()),
        (
            "uri",
            format!(
                "postgresql://{}:{IN_URI}@{host}:{port}/{}?sslmode={mode}",
                literal(role),
                literal(database)
            ),
        ),
        (
            "jdbc-uri",
            format!(
                "jdbc:postgresql://{host}:{port}/{}?user={}&password={IN_URI}&sslmode={mode}",
                literal(database),
                literal(role)
            ),
        ),
        (
            "pgpass",
            format!(
                "{host}:{port}:{}:{}:{IN_PGPASS}\n",
                literal(database),
                literal(role)
            ),
        ),
    ];
    let ca = intent.ca_pem.as_deref().map(|pem| ("ca.crt", literal(pem)));
    let data: Map<String, Value> = keys
        .into_iter()
        .chain(ca)
        .map(|(key, value)| (key.to_owned(), Value::from(value)))
        .collect();
    Value::Object(data)
}

/// Text that the template engine gives back as it is.
fn literal(text: &str) -> String {
    text.replace("{{", r#"{{ "{{" }}"#)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing)]

    use serde_json::json;

    use super::super::example::{endpoint, intent};
    use super::*;

    #[test]
    fn d7_every_key_is_there_and_the_password_is_encoded_where_the_format_needs_it() {
        assert_eq!(
            data(&intent()),
            json!({
                "type": "postgresql",
                "provider": "tenantry",
                "username": "netbox_app",
                "password": "{{ .password }}",
                "host": "pg.home.arpa",
                "hostaddr": "192.0.2.10",
                "port": "5432",
                "database": "netbox",
                "sslmode": "verify-full",
                "uri": "postgresql://netbox_app:{{ .password | urlquery | replace \"+\" \"%20\" }}\
                        @pg.home.arpa:5432/netbox?sslmode=verify-full",
                "jdbc-uri": "jdbc:postgresql://pg.home.arpa:5432/netbox?user=netbox_app\
                             &password={{ .password | urlquery | replace \"+\" \"%20\" }}&sslmode=verify-full",
                "pgpass": "pg.home.arpa:5432:netbox:netbox_app:\
                           {{ .password | replace \"\\\\\" \"\\\\\\\\\" | replace \":\" \"\\\\:\" }}\n",
            })
        );
    }

    #[test]
    fn d7_the_ca_is_there_only_when_configured_and_is_never_run_as_a_template() {
        assert!(data(&intent()).get("ca.crt").is_none());
        let with_ca = data(&Intent {
            ca_pem: Some("# {{ .x }}\n-----BEGIN".to_owned()),
            ..intent()
        });
        assert_eq!(with_ca["ca.crt"], "# {{ \"{{\" }} .x }}\n-----BEGIN");
    }

    #[test]
    fn d7_an_ipv6_address_stands_only_where_it_needs_no_brackets() {
        let data = data(&Intent {
            endpoint: endpoint("2001:db8::1"),
            ..intent()
        });
        assert_eq!(data["hostaddr"], "2001:db8::1");
        for key in ["uri", "jdbc-uri", "pgpass"] {
            assert!(
                !data[key]
                    .as_str()
                    .is_some_and(|value| value.contains("2001")),
                "{key}"
            );
        }
    }
}
