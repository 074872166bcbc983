//! Story: what the chart asks of a cluster. It is rendered by the real helm; nothing is installed.
//!
//! The rights are compared with a list, so that a new one needs a decision here and a reason in the chart.

use std::collections::BTreeSet;

use e2e::world::chart::helm;
use serde_json::Value;

const CHART: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../charts/tenantry");
const RELEASE_NAMESPACE: &str = "the-operators";
const URL: &str = "webhook.url=https://192.0.2.7:8443";
const APPLICATIONS: &str = "applications.enabled=true";

/// Kind of the role, API group, resource, names, verbs.
const RIGHTS: &[&str] = &[
    "ClusterRole database.ddupan.top postgresqlinstances [] get,list,watch,patch",
    "ClusterRole database.ddupan.top postgresqltenants [] get,list,watch,patch",
    "ClusterRole database.ddupan.top postgresqlinstances/status [] patch",
    "ClusterRole database.ddupan.top postgresqltenants/status [] patch",
    "ClusterRole external-secrets.io externalsecrets [] get,list,watch,create,patch,delete",
    "ClusterRole  secrets [] get",
    "ClusterRole  namespaces [kube-system] get",
    "ClusterRole events.k8s.io events [] create,patch",
    "ClusterRole admissionregistration.k8s.io validatingwebhookconfigurations [tenantry] get,patch",
    "Role  secrets [] get,list,watch",
    "Role  secrets [] create",
    "Role  secrets [tenantry-webhook-tls] update",
    "Role coordination.k8s.io leases [] create",
    "Role coordination.k8s.io leases [tenantry] get,patch",
];

/// What Applications add.
const RIGHTS_FOR_APPLICATIONS: &[&str] = &[
    "ClusterRole deckhouse.io applicationpackageversions [] get,list,watch,create,patch",
    "ClusterRole deckhouse.io applicationpackages [] get,list,watch,create,patch",
    "ClusterRole deckhouse.io packagerepositories [] get,list,watch,create",
    "ClusterRole deckhouse.io packagerepositoryoperations [] list,watch,create,delete",
    "ClusterRole deckhouse.io packagerepositoryoperations/status [] patch",
    "ClusterRole deckhouse.io applications [] get,list,watch,patch",
    "ClusterRole deckhouse.io applications/status [] patch",
    "ClusterRole  serviceaccounts/token [tenantry-applications] create",
    "ClusterRole  namespaces [] get",
    "ClusterRole deckhouse.io applicationpackageversions/status [] patch",
    "ClusterRole deckhouse.io applicationpackages/status [] patch",
    "ClusterRole deckhouse.io packagerepositories/status [] patch",
    "ClusterRole multitenancy.deckhouse.io availableclusterresources [] list,watch",
];

async fn rendered(values: &[&str]) -> Vec<Value> {
    let mut arguments = vec![
        "template",
        "tenantry",
        CHART,
        "--namespace",
        RELEASE_NAMESPACE,
    ];
    arguments.extend(values.iter().flat_map(|value| ["--set", value]));
    let output = helm(&arguments).await.unwrap().success().unwrap();
    serde_saphyr::from_multiple(&output.stdout).unwrap()
}

fn of_kind<'a>(objects: &'a [Value], kind: &'a str) -> impl Iterator<Item = &'a Value> {
    objects.iter().filter(move |object| object["kind"] == kind)
}

fn texts(value: &Value) -> Vec<&str> {
    let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
    items.iter().map(|item| item.as_str().unwrap()).collect()
}

fn rules(objects: &[Value]) -> Vec<(&str, &Value)> {
    ["ClusterRole", "Role"]
        .into_iter()
        .flat_map(|kind| of_kind(objects, kind).map(move |role| (kind, role)))
        .flat_map(|(kind, role)| {
            let rules = role["rules"].as_array().unwrap();
            rules.iter().map(move |rule| (kind, rule))
        })
        .collect()
}

#[tokio::test]
async fn d16_the_chart_gives_the_controller_these_rights_and_no_other() {
    let listed = |rights: &[&str]| -> BTreeSet<String> {
        rights.iter().map(|&right| right.to_owned()).collect()
    };
    assert_eq!(given(&rendered(&[URL]).await), listed(RIGHTS));
    let serving = rendered(&[URL, APPLICATIONS]).await;
    let more = [RIGHTS, RIGHTS_FOR_APPLICATIONS].concat();
    assert_eq!(given(&serving), listed(&more));
}

/// Each right as a line.
fn given(objects: &[Value]) -> BTreeSet<String> {
    let mut given = BTreeSet::new();
    for (kind, rule) in rules(objects) {
        let names = texts(&rule["resourceNames"]).join(",");
        let verbs = texts(&rule["verbs"]).join(",");
        for group in texts(&rule["apiGroups"]) {
            for resource in texts(&rule["resources"]) {
                given.insert(format!("{kind} {group} {resource} [{names}] {verbs}"));
            }
        }
    }
    given
}

#[tokio::test]
async fn s21_no_right_of_the_chart_is_a_wildcard_or_a_way_to_more_rights() {
    let objects = rendered(&[URL, APPLICATIONS]).await;
    let rules = rules(&objects);
    assert!(!rules.is_empty());
    for (kind, rule) in rules {
        let words = [
            "apiGroups",
            "resources",
            "verbs",
            "resourceNames",
            "nonResourceURLs",
        ];
        let words: Vec<&str> = words
            .iter()
            .flat_map(|field| texts(&rule[*field]))
            .collect();
        for forbidden in ["*", "escalate", "bind", "impersonate", "pods/exec"] {
            assert!(!words.contains(&forbidden), "{kind} {rule}");
        }
        if kind == "ClusterRole" && words.contains(&"secrets") {
            assert_eq!(texts(&rule["verbs"]), ["get"], "{rule}");
        }
        // S21: tokens of accounts of one name alone, whose rights administrators give namespace by namespace.
        if words.contains(&"serviceaccounts/token") {
            assert_eq!(
                texts(&rule["resources"]),
                ["serviceaccounts/token"],
                "{rule}"
            );
            assert_eq!(
                texts(&rule["resourceNames"]),
                ["tenantry-applications"],
                "{rule}"
            );
            assert_eq!(texts(&rule["verbs"]), ["create"], "{rule}");
        }
        if words.contains(&"validatingwebhookconfigurations") {
            assert_eq!(texts(&rule["resourceNames"]), ["tenantry"], "{rule}");
            assert_eq!(texts(&rule["verbs"]), ["get", "patch"], "{rule}");
        }
    }
}

#[test]
fn every_right_in_the_chart_has_its_reason_beside_it() {
    let text = std::fs::read_to_string(format!("{CHART}/templates/rbac.yaml")).unwrap();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let rules: Vec<usize> = (0..lines.len())
        .filter(|&at| lines[at].starts_with("- apiGroups:"))
        .collect();
    assert!(rules.len() > 5, "{rules:?}");
    for at in rules {
        assert!(
            lines[at - 1].starts_with("# "),
            "line {}: {}",
            at + 1,
            lines[at]
        );
    }
}

#[tokio::test]
async fn the_rights_go_to_the_service_account_of_the_release_alone() {
    let objects = rendered(&[URL]).await;
    let accounts: Vec<&Value> = of_kind(&objects, "ServiceAccount").collect();
    assert_eq!(accounts.len(), 1);
    assert_eq!(accounts[0]["metadata"]["name"], "tenantry");
    let bindings = of_kind(&objects, "ClusterRoleBinding").chain(of_kind(&objects, "RoleBinding"));
    let subjects: Vec<&Value> = bindings.map(|binding| &binding["subjects"]).collect();
    assert_eq!(subjects.len(), 2);
    for subjects in subjects {
        let subjects = subjects.as_array().unwrap();
        assert_eq!(subjects.len(), 1);
        assert_eq!(subjects[0]["kind"], "ServiceAccount");
        assert_eq!(subjects[0]["name"], "tenantry");
        assert_eq!(subjects[0]["namespace"], RELEASE_NAMESPACE);
    }
}

#[tokio::test]
async fn d4_the_webhook_is_asked_of_spec_changes_only_and_fails_closed() {
    let objects = rendered(&[URL, "webhook.caBundle=YWE="]).await;
    let configurations: Vec<&Value> = of_kind(&objects, "ValidatingWebhookConfiguration").collect();
    let webhooks = configurations[0]["webhooks"].as_array().unwrap();
    assert_eq!((configurations.len(), webhooks.len()), (1, 2));
    for (webhook, kind) in webhooks
        .iter()
        .zip(["postgresqlinstance", "postgresqltenant"])
    {
        let path = format!("/validate-database-ddupan-top-v1alpha1-{kind}");
        assert_eq!(
            webhook["clientConfig"]["url"],
            format!("https://192.0.2.7:8443{path}")
        );
        assert_eq!(webhook["clientConfig"]["caBundle"], "YWE=");
        assert_eq!(
            texts(&webhook["rules"][0]["operations"]),
            ["CREATE", "UPDATE"]
        );
        assert_eq!(
            texts(&webhook["rules"][0]["resources"]),
            [format!("{kind}s")]
        );
        assert_eq!(webhook["matchPolicy"], "Equivalent");
        assert_eq!(webhook["failurePolicy"], "Fail");
        assert_eq!(webhook["sideEffects"], "None");
        assert_eq!(webhook["timeoutSeconds"], 5);
        assert_eq!(
            webhook["matchConditions"][0]["expression"],
            "request.operation == 'CREATE' || object.spec != oldObject.spec"
        );
        let selector = &webhook["namespaceSelector"]["matchExpressions"][0];
        assert_eq!(selector["operator"], "NotIn");
        assert_eq!(texts(&selector["values"]), [RELEASE_NAMESPACE]);
    }
}

#[tokio::test]
async fn applications_are_served_by_one_value_from_crds_to_flags() {
    let webhooks = |objects: &[Value]| -> Vec<Value> {
        let configuration = of_kind(objects, "ValidatingWebhookConfiguration").next();
        configuration.unwrap()["webhooks"]
            .as_array()
            .unwrap()
            .clone()
    };
    let arguments = |objects: &[Value]| -> Vec<String> {
        let deployment = of_kind(objects, "Deployment").next().unwrap();
        let container = &deployment["spec"]["template"]["spec"]["containers"][0];
        texts(&container["args"])
            .into_iter()
            .map(str::to_owned)
            .collect()
    };
    let without = rendered(&[]).await;
    assert_eq!(webhooks(&without).len(), 2);
    assert!(!arguments(&without).contains(&"--applications".to_owned()));
    let with = rendered(&[APPLICATIONS, "applications.enforceDestructiveSwitch=true"]).await;
    for flag in [
        "--applications",
        "--default-repository=deckhouse",
        "--enforce-destructive-switch",
    ] {
        assert!(arguments(&with).contains(&flag.to_owned()), "{flag}");
    }
    let kinds = of_kind(&with, "CustomResourceDefinition").count();
    let both = crds::tenancy_kinds().len() + crds::application_kinds().len();
    assert_eq!(kinds, both);
    let without_crds = rendered(&[APPLICATIONS, "crds.enabled=false"]).await;
    assert_eq!(
        of_kind(&without_crds, "CustomResourceDefinition").count(),
        0
    );
    let all = webhooks(&with);
    assert_eq!(all.len(), 3);
    let application = &all[2];
    assert_eq!(
        application["clientConfig"]["service"]["path"],
        "/validate/v1alpha1/applications"
    );
    assert_eq!(application["failurePolicy"], "Fail");
    assert_eq!(application["sideEffects"], "None");
    assert_eq!(
        texts(&application["rules"][0]["apiGroups"]),
        ["deckhouse.io"]
    );
    assert_eq!(
        texts(&application["rules"][0]["operations"]),
        ["CREATE", "UPDATE"]
    );
    assert_eq!(
        texts(&application["rules"][0]["resources"]),
        ["applications"]
    );
    assert_eq!(
        application["matchConditions"][0]["expression"],
        format!(
            "request.userInfo.username != 'system:serviceaccount:{RELEASE_NAMESPACE}:tenantry'"
        )
    );
}

#[tokio::test]
async fn the_crds_stay_when_the_release_goes_and_can_be_left_out() {
    let objects = rendered(&[URL]).await;
    let definitions: Vec<&Value> = of_kind(&objects, "CustomResourceDefinition").collect();
    assert_eq!(definitions.len(), crds::tenancy_kinds().len());
    for definition in definitions {
        assert_eq!(
            definition["metadata"]["annotations"]["helm.sh/resource-policy"],
            "keep"
        );
    }
    let objects = rendered(&["crds.enabled=false", "webhook.enabled=false"]).await;
    assert_eq!(of_kind(&objects, "CustomResourceDefinition").count(), 0);
    assert_eq!(
        of_kind(&objects, "ValidatingWebhookConfiguration").count(),
        0
    );
}

#[tokio::test]
async fn helm_finds_nothing_wrong_with_the_chart() {
    for values in [
        "",
        URL,
        APPLICATIONS,
        "certificates.mode=certManager,metrics.serviceMonitor.enabled=true,metrics.prometheusRule.enabled=true,\
         metrics.dashboard.enabled=true,networkPolicy.enabled=true",
    ] {
        let output = helm(&["lint", "--strict", CHART, "--set", values])
            .await
            .unwrap();
        let said = output.success().unwrap().stdout;
        assert!(
            said.contains("0 chart(s) failed") && !said.contains("[WARNING]"),
            "{said}"
        );
    }
}

#[tokio::test]
async fn the_pods_meet_the_restricted_profile_and_have_bounds() {
    let objects = rendered(&[]).await;
    let deployments: Vec<&Value> = of_kind(&objects, "Deployment").collect();
    assert_eq!(deployments.len(), 1);
    let spec = &deployments[0]["spec"];
    assert_eq!(spec["replicas"], 2);
    let pod = &spec["template"]["spec"];
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    assert_eq!(
        pod["securityContext"]["seccompProfile"]["type"],
        "RuntimeDefault"
    );
    let containers = pod["containers"].as_array().unwrap();
    assert_eq!(containers.len(), 1);
    let security = &containers[0]["securityContext"];
    assert_eq!(security["allowPrivilegeEscalation"], false);
    assert_eq!(security["readOnlyRootFilesystem"], true);
    assert_eq!(texts(&security["capabilities"]["drop"]), ["ALL"]);
    let resources = &containers[0]["resources"];
    assert!(resources["requests"]["memory"].is_string(), "{resources}");
    assert!(resources["limits"]["memory"].is_string(), "{resources}");
    for (probe, path) in [
        ("startupProbe", "/livez"),
        ("livenessProbe", "/livez"),
        ("readinessProbe", "/readyz"),
    ] {
        assert_eq!(containers[0][probe]["httpGet"]["path"], path);
        assert_eq!(containers[0][probe]["httpGet"]["scheme"], "HTTPS");
    }
}

#[tokio::test]
async fn the_service_and_the_budget_choose_the_pods() {
    let objects = rendered(&[]).await;
    let deployment = of_kind(&objects, "Deployment").next().unwrap();
    let selector = deployment["spec"]["selector"]["matchLabels"]
        .as_object()
        .unwrap();
    let labels = &deployment["spec"]["template"]["metadata"]["labels"];
    assert_eq!(selector.len(), 3);
    for (key, value) in selector {
        assert_eq!(&labels[key], value);
    }
    let service = of_kind(&objects, "Service").next().unwrap();
    assert_eq!(service["spec"]["selector"].as_object(), Some(selector));
    let budget = of_kind(&objects, "PodDisruptionBudget").next().unwrap();
    assert_eq!(
        budget["spec"]["selector"]["matchLabels"].as_object(),
        Some(selector)
    );
    let single = rendered(&["replicas=1"]).await;
    assert_eq!(of_kind(&single, "PodDisruptionBudget").count(), 0);
}

#[tokio::test]
async fn for_a_process_outside_the_cluster_the_chart_runs_nothing() {
    let opted_in = [
        URL,
        "certificates.mode=certManager",
        "networkPolicy.enabled=true",
        "metrics.serviceMonitor.enabled=true",
    ];
    let objects = rendered(&opted_in).await;
    let kinds: BTreeSet<&str> = objects
        .iter()
        .filter_map(|object| object["kind"].as_str())
        .collect();
    let expected = BTreeSet::from([
        "ClusterRole",
        "ClusterRoleBinding",
        "CustomResourceDefinition",
        "Role",
        "RoleBinding",
        "ServiceAccount",
        "ValidatingWebhookConfiguration",
    ]);
    assert_eq!(kinds, expected);
}
