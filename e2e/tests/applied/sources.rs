//! Story: where values come from, in the order of the contract (section 4.2), seen by a chart that prints them.

use serde_json::{Value, json};

use super::stand::Stand;

#[tokio::test]
async fn user_settings_beat_project_defaults_beat_schema_defaults_and_values_have_defaults_of_their_own()
 {
    let stand = Stand::shared("sources").await;
    let settings = "{type: object, properties: {size: {type: integer, default: 3}, mode: {type: string, default: slow}, class: {type: string, \
                    default: schema, x-deckhouse-grantable-resource: storageclasses}, other: {type: string, default: schema, \
                    x-deckhouse-grantable-resource: storageclasses}}}";
    let values = "{type: object, x-extend: {schema: settings.yaml}, properties: {internal: {type: object, default: {}, properties: {port: {type: \
                  integer, default: 80}}}}}";
    stand
        .publish(
            "v1.1.0",
            &[
                ("openapi/settings.yaml", settings),
                ("openapi/values.yaml", values),
            ],
        )
        .await;
    let granted = format!(
        "apiVersion: multitenancy.deckhouse.io/v1alpha1\nkind: AvailableClusterResource\nmetadata: {{name: storageclasses, namespace: {}}}\n",
        stand.namespace.name
    );
    let made = stand.bed.kubectl().apply(&granted).await.unwrap();
    made.success().unwrap();
    let status = json!({"default": "fast", "available": [{"name": "fast"}, {"name": "slow"}]});
    let place = (
        "availableclusterresource",
        stand.namespace.name.as_str(),
        "storageclasses",
    );
    let kubectl = stand.bed.kubectl();
    kubectl
        .merge_status(place, &status)
        .await
        .unwrap()
        .success()
        .unwrap();
    stand.apply("v1.1.0", "{size: 7, class: slow}", "").await;
    let effective = json!({"size": 7, "mode": "slow", "class": "slow", "other": "fast"});
    stand.ready(&effective).await;
    let seen = stand.seen().await.unwrap();
    let read = |key: &str| serde_json::from_str::<Value>(seen[key].as_str().unwrap()).unwrap();
    assert_eq!(read("settings"), effective);
    let mut expected = effective;
    expected["internal"] = json!({"port": 80});
    assert_eq!(read("values"), expected);
}
