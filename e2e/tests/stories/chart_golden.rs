//! Story: what the chart renders, word for word, per certificate mode.
//!
//! A change of the chart shows here as a diff that a person reads; `make golden` writes the files anew.

use std::path::Path;

use e2e::world::chart::{chart_folder, helm};

/// File name in `golden/`, and the values that lead to it.
const RENDERINGS: &[(&str, &[&str])] = &[
    ("self-signed", &[]),
    ("cert-manager", &["certificates.mode=certManager"]),
    (
        "cert-manager-own-issuer",
        &[
            "certificates.mode=certManager",
            "certificates.certManager.issuerRef.kind=ClusterIssuer",
            "certificates.certManager.issuerRef.name=the-authority",
        ],
    ),
    (
        "existing-secret",
        &[
            "certificates.mode=existingSecret",
            "certificates.existingSecret.name=my-pair",
            "webhook.caBundle=YWE=",
        ],
    ),
    (
        "outside",
        &[
            "webhook.url=https://192.0.2.7:8443",
            "webhook.caBundle=YWE=",
        ],
    ),
    (
        "everything",
        &[
            "replicas=3",
            "image.digest=sha256:0123456789012345678901234567890123456789012345678901234567890123",
            "imagePullSecrets[0].name=puller",
            "openbao.ca.configMapName=openbao-authority",
            "openbao.auth.method=token",
            "openbao.auth.tokenSecretName=openbao-token",
            "openbao.consumerAddress=https://openbao.example.org",
            "openbao.namespace=team",
            "postgresql.ca.secretName=postgresql-authority",
            "postgresql.denyHostaddr={10.0.0.0/16,fd00::/8}",
            "externalSecrets.storeKind=SecretStore",
            "metrics.serviceMonitor.enabled=true",
            "metrics.serviceMonitor.labels.release=prometheus",
            "metrics.prometheusRule.enabled=true",
            "metrics.prometheusRule.runbookUrl=https://docs.example.org/runbooks",
            "metrics.prometheusRule.alertLabels.team=platform",
            "networkPolicy.enabled=true",
            "networkPolicy.ingressFrom[0].ipBlock.cidr=192.0.2.0/24",
            "priorityClassName=system-cluster-critical",
            "extraArgs={--concurrency=4}",
            "applications.enabled=true",
            "applications.enforceDestructiveSwitch=true",
        ],
    ),
];

async fn rendering(values: &[&str]) -> String {
    let chart = chart_folder().display().to_string();
    let mut arguments = vec!["template", "tenantry", &chart];
    arguments.extend(["--namespace", "tenantry-system"]);
    // The CRDs are golden files of their own: `crds/*.yaml`.
    arguments.extend(["--set", "crds.enabled=false"]);
    arguments.extend(values.iter().flat_map(|value| ["--set", value]));
    helm(&arguments).await.unwrap().success().unwrap().stdout
}

#[tokio::test]
async fn the_chart_renders_its_golden_files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stories/golden");
    let update = std::env::var_os("UPDATE_GOLDEN").is_some();
    let mut differ = Vec::new();
    for (name, values) in RENDERINGS {
        let file = folder.join(format!("{name}.yaml"));
        let rendered = rendering(values).await;
        if update {
            std::fs::write(&file, rendered).unwrap();
        } else if std::fs::read_to_string(&file).unwrap_or_default() != rendered {
            let now = std::env::temp_dir().join(format!("tenantry-golden-{name}.yaml"));
            std::fs::write(&now, rendered).unwrap();
            differ.push(format!("diff {} {}", file.display(), now.display()));
        }
    }
    assert!(
        differ.is_empty(),
        "see below; if it is meant, run `make golden` and commit:\n{}",
        differ.join("\n")
    );
}
