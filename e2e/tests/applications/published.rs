//! Story: an author's directory becomes package versions in the cluster, and follows what the author writes.

use domain::settings::limits::Limits;
use e2e::bed::wait::until;
use e2e::world::condition::{await_object, condition};
use e2e::world::objects::all;
use e2e::world::tenantry::Tenantry;
use e2e::{Bed, Options};
use kube::api::ListParams;

use super::directory::{API_VERSION, DRAFT, Directory, SOON, await_loaded, versions};

const BROKEN: &str = "{type: object, properties: {size: {type: string, pattern: '('}}}";
const MENDED: &str = "{type: object, properties: {size: {type: string, pattern: '^[0-9]+Gi$'}}}";

#[tokio::test]
async fn alone_a_directory_is_published_a_broken_version_stays_a_draft_and_a_change_is_published_again()
 {
    let bed = Bed::private(Options::default().openbao_in_memory())
        .await
        .unwrap();
    let directory = Directory::new();
    directory.copy_sample("shop", "v1.2.0");
    directory.write("cart/v0.1.0/openapi/settings.yaml", BROKEN);
    let tenantry = Tenantry::start(&bed, directory.options()).await.unwrap();

    the_sample_is_published_whole(&bed).await;
    the_broken_version_is_a_draft(&bed).await;
    the_repository_and_its_packages_say_what_is_on_offer(&bed).await;
    the_files_are_followed(&bed, &directory).await;
    a_hand_is_undone(&bed).await;
    s20_the_largest_schemas_fit_into_one_object(&bed, &directory).await;
    tenantry.stop();
}

async fn the_sample_is_published_whole(bed: &Bed) {
    let shop = await_loaded(bed, "local-shop-v1.2.0", "MetadataLoaded")
        .await
        .unwrap();
    let at = |pointer: &str| shop.data.pointer(pointer).cloned().unwrap_or_default();
    assert_eq!(at("/spec/packageName"), "shop");
    assert_eq!(
        at("/status/packageMetadata/description/en"),
        "A shop with a catalogue and a basket."
    );
    let schema = "/status/packageSchemas/settingsSchema";
    assert_eq!(
        at(&format!(
            "{schema}/openAPIV3Schema/properties/images/properties/storageClass/x-deckhouse-immutable"
        )),
        true
    );
    assert_eq!(
        at(&format!("{schema}/descriptions/ru/~1properties~1replicas")),
        "Сколько серверов работает."
    );
    assert_eq!(
        at("/status/packageSchemas/valuesSchema/openAPIV3Schema/x-extend"),
        serde_json::Value::Null
    );
    let labels = shop.metadata.labels.clone().unwrap();
    assert_eq!(
        labels
            .get("packages.deckhouse.io/exist-in-registry")
            .unwrap(),
        "true"
    );
    assert!(!labels.contains_key(DRAFT));
}

async fn the_broken_version_is_a_draft(bed: &Bed) {
    let cart = await_loaded(bed, "local-cart-v0.1.0", "InvalidSchema")
        .await
        .unwrap();
    let said = condition(&cart, "MetadataLoaded").unwrap();
    assert_eq!(said.status, "False");
    assert!(
        said.message
            .starts_with("openapi/settings.yaml: properties.size.pattern "),
        "{}",
        said.message
    );
    assert_eq!(cart.metadata.labels.unwrap().get(DRAFT).unwrap(), "true");
    assert_eq!(cart.data.pointer("/status/packageSchemas"), None);
}

async fn the_repository_and_its_packages_say_what_is_on_offer(bed: &Bed) {
    let client = bed.kube().await.unwrap();
    let repositories = all(&client, API_VERSION, "PackageRepository");
    await_object(&repositories, "local", "scanned", SOON, |object| {
        object.data.pointer("/status/packagesCount") == Some(&2.into())
    })
    .await
    .unwrap();
    let shown = bed
        .kubectl()
        .run(&["get", "applicationpackageversions", "--no-headers"])
        .await
        .unwrap();
    let shown = shown.success().unwrap().stdout;
    let row = shown
        .lines()
        .find(|line| line.contains("local-cart-v0.1.0"))
        .unwrap();
    assert!(
        row.split_whitespace().any(|word| word == "False"),
        "{shown}"
    );
    let package = all(&client, API_VERSION, "ApplicationPackage")
        .get("shop")
        .await
        .unwrap();
    assert_eq!(
        package.data["status"]["availableRepositories"],
        serde_json::json!(["local"])
    );
}

async fn the_files_are_followed(bed: &Bed, directory: &Directory) {
    directory.write("cart/v0.1.0/openapi/settings.yaml", MENDED);
    let cart = await_loaded(bed, "local-cart-v0.1.0", "MetadataLoaded")
        .await
        .unwrap();
    assert_eq!(
        cart.data.pointer(
            "/status/packageSchemas/settingsSchema/openAPIV3Schema/properties/size/pattern"
        ),
        Some(&"^[0-9]+Gi$".into())
    );

    // What was loaded stays in force while the author's next try is wrong.
    directory.write("cart/v0.1.0/openapi/settings.yaml", BROKEN);
    let versions = versions(bed).await;
    let cart = await_object(
        &versions,
        "local-cart-v0.1.0",
        "wrong again",
        SOON,
        |object| {
            condition(object, "MetadataLoaded").is_some_and(|said| said.reason == "InvalidSchema")
        },
    )
    .await
    .unwrap();
    assert!(
        cart.data
            .pointer("/status/packageSchemas/settingsSchema")
            .is_some()
    );
    assert!(!cart.metadata.labels.unwrap().contains_key(DRAFT));
    let client = bed.kube().await.unwrap();
    let events = async || {
        let listed = all(&client, "events.k8s.io/v1", "Event")
            .list(&ListParams::default())
            .await?;
        let of_cart = listed
            .items
            .iter()
            .filter(|event| event.data["regarding"]["name"] == "local-cart-v0.1.0");
        let mut reasons: Vec<String> = of_cart
            .map(|event| event.data["reason"].as_str().unwrap().to_owned())
            .collect();
        reasons.sort();
        anyhow::ensure!(
            reasons == ["InvalidSchema", "InvalidSchema", "MetadataLoaded"],
            "{reasons:?}"
        );
        Ok(())
    };
    until(SOON, "one event a change of the reason", events)
        .await
        .unwrap();
}

/// Without a change of the files.
async fn a_hand_is_undone(bed: &Bed) {
    let versions = versions(bed).await;
    let gone = [
        "label",
        "applicationpackageversion",
        "local-shop-v1.2.0",
        "packages.deckhouse.io/package-",
    ];
    bed.kubectl().run(&gone).await.unwrap().success().unwrap();
    await_object(
        &versions,
        "local-shop-v1.2.0",
        "labelled again",
        SOON,
        |object| {
            object
                .metadata
                .labels
                .iter()
                .flatten()
                .any(|(label, _)| label == "packages.deckhouse.io/package")
        },
    )
    .await
    .unwrap();
}

/// Both schemas and the Russian texts just under their limits.
async fn s20_the_largest_schemas_fit_into_one_object(bed: &Bed, directory: &Directory) {
    let limits = Limits::DEFAULT;
    let schema = |bytes: usize, text: &str| {
        let fields = bytes / 4_100;
        let field = |number: usize| {
            format!(
                "  p{number:03}: {{description: {}}}\n",
                text.repeat(4_000 / text.len())
            )
        };
        format!(
            "properties:\n{}",
            (0..fields).map(field).collect::<String>()
        )
    };
    let whole = schema(limits.published_bytes - 8_000, "x");
    directory.write("huge/v1.0.0/openapi/settings.yaml", &whole);
    directory.write("huge/v1.0.0/openapi/values.yaml", &whole);
    let russian = schema(limits.descriptions_bytes - 8_000, "ж");
    directory.write("huge/v1.0.0/openapi/doc-ru-settings.yaml", &russian);
    let huge = await_loaded(bed, "local-huge-v1.0.0", "MetadataLoaded")
        .await
        .unwrap();
    let schemas = &huge.data["status"]["packageSchemas"];
    let bytes = serde_json::to_string(schemas).unwrap().len();
    assert!(bytes > 2 * 500_000 + 230_000, "{bytes}");
}
