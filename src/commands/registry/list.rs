//! `tenantry registry list`: each row with what the server and the API say of it.
//!
//! Decides only how a row is shown.

use std::fmt::Write as _;

use domain::tenancy::claim::Claim;
use domain::tenancy::facts::ServerFacts;
use domain::tenancy::record::{Living, contradictions, is_retained};
use serde::Serialize;

use super::RegistryError;
use super::connect::{Record, Registry};
use crate::cli::{ListOptions, OutputFormat};
use crate::commands::print;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    namespace: String,
    name: String,
    database: String,
    role: String,
    state: &'static str,
    uid: String,
    cluster_uid: String,
    instance_uid: String,
    secret_path: String,
    /// What the API server says of the Tenant.
    tenant: String,
    retained: bool,
    /// What on the server is not as recorded; empty where all is.
    server: Vec<String>,
}

const HEAD: [&str; 8] = [
    "TENANT", "DATABASE", "ROLE", "STATE", "UID", "LIVING", "RETAINED", "SERVER",
];

pub(super) async fn list(options: &ListOptions) -> Result<(), RegistryError> {
    let registry = Registry::of(&options.instance).await?;
    let rows: Vec<Row> = registry.records().await?.into_iter().map(Row::of).collect();
    let text = match options.output {
        OutputFormat::Text => table(&rows),
        OutputFormat::Json => {
            let json = serde_json::to_string_pretty(&rows).unwrap_or_default();
            format!("{json}\n")
        }
    };
    print(&text).map_err(RegistryError::Terminal)
}

impl Row {
    fn of(record: Record) -> Self {
        let Record {
            claim,
            server,
            living,
        } = record;
        Self {
            retained: is_retained(&claim, &living),
            server: said_of(&claim, &server),
            tenant: match &living {
                Living::Same => "yes".to_owned(),
                Living::Another(uid) => format!("another UID: {uid}"),
                Living::Gone => "gone".to_owned(),
                Living::Elsewhere => "another cluster".to_owned(),
            },
            namespace: claim.namespace,
            name: claim.name,
            database: claim.database,
            role: claim.role,
            state: claim.state.as_str(),
            uid: claim.tenant_uid.to_string(),
            cluster_uid: claim.cluster_uid.to_string(),
            instance_uid: claim.instance_uid.to_string(),
            secret_path: claim.secret_path,
        }
    }

    fn cells(&self) -> [String; 8] {
        let server = if self.server.is_empty() {
            "as recorded".to_owned()
        } else {
            self.server.join("; ")
        };
        [
            format!("{}/{}", self.namespace, self.name),
            self.database.clone(),
            self.role.clone(),
            self.state.to_owned(),
            self.uid.clone(),
            self.tenant.clone(),
            if self.retained { "yes" } else { "no" }.to_owned(),
            server,
        ]
    }
}

/// What is gone, and what contradicts the row.
fn said_of(claim: &Claim, server: &ServerFacts) -> Vec<String> {
    let mut said = contradictions(claim, server);
    if claim.role_oid.is_some() && server.role.is_none() {
        said.push(format!("role {} is gone", claim.role));
    }
    if claim.database_oid.is_some() && server.database.is_none() {
        said.push(format!("database {} is gone", claim.database));
    }
    said
}

/// Columns as wide as their widest cell; the last one is open.
fn table(rows: &[Row]) -> String {
    if rows.is_empty() {
        return "the registry is empty\n".to_owned();
    }
    let mut lines = vec![HEAD.map(str::to_owned)];
    lines.extend(
        rows.iter()
            .map(|row| row.cells().map(|cell| webhook::for_terminal(&cell))),
    );
    let mut widths = [0; HEAD.len()];
    for line in &lines {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for line in &lines {
        let mut shown = String::new();
        for (width, cell) in widths.iter().zip(line) {
            let _ = write!(shown, "{cell:<width$}   ");
        }
        text.push_str(shown.trim_end());
        text.push('\n');
    }
    text
}
