//! Which files of a bundle become the private chart, and how they are changed on the way (section 9).
//!
//! Helm knows no `.Application`, so each template begins with a line that reads a file of ours and puts it into the root. Partials are left
//! alone: called with the root, they see it too. What templates do not need stays out, since the chart ends up in the release Secret.

use serde_json::json;

/// The file of the chart that holds what templates see beside `.Values`.
pub const CONTEXT_FILE: &str = "tenantry.json";
/// The chart's own description.
pub const CHART_FILE: &str = "Chart.yaml";

/// The line before each template. It ends without a line break, so that line numbers in helm's errors are those of the author's file.
pub const PRELUDE: &str = concat!(
    "{{- $tenantry := .Files.Get \"tenantry.json\" | fromJson }}",
    "{{- $_ := set . \"Application\" $tenantry.Application }}",
    "{{- $_ := set . \"Platform\" $tenantry.Platform }}",
);

/// What becomes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placed {
    /// It is copied.
    AsItIs,
    /// It is copied behind [`PRELUDE`].
    Template,
    /// It is left out.
    LeftOut,
    /// Custom resource definitions, which helm would install before anything is checked (S22).
    Definitions,
}

/// What becomes of the file at this path of the bundle, with dashes between its parts.
#[must_use]
pub fn placed(path: &str) -> Placed {
    let parts: Vec<&str> = path.split('/').collect();
    match parts.as_slice() {
        ["templates", .., name] if is_partial(name) => Placed::AsItIs,
        ["templates", _, ..] => Placed::Template,
        ["charts", .., "crds", _] => Placed::Definitions,
        ["charts", _, ..] => Placed::AsItIs,
        [CONTEXT_FILE] => Placed::LeftOut,
        [name]
            if name
                .rsplit_once('.')
                .is_some_and(|(_, ending)| ending == "json") =>
        {
            Placed::AsItIs
        }
        _ => Placed::LeftOut,
    }
}

/// Helm renders no object from these.
fn is_partial(name: &str) -> bool {
    name.starts_with('_') || name == "NOTES.txt"
}

/// The description of the private chart. JSON is YAML.
#[must_use]
pub fn description(package: &str, version: &str) -> String {
    json!({
        "apiVersion": "v2",
        "name": package,
        "version": version.trim_start_matches('v'),
    })
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_begin_with_the_prelude_and_partials_and_subcharts_do_not() {
        for path in [
            "templates/a.yaml",
            "templates/deep/b.yml",
            "templates/c.txt",
        ] {
            assert_eq!(placed(path), Placed::Template, "{path}");
        }
        for path in [
            "templates/_p.tpl",
            "templates/deep/_helpers.yaml",
            "templates/NOTES.txt",
            "charts/lib/templates/_x.tpl",
            "images_digests.json",
        ] {
            assert_eq!(placed(path), Placed::AsItIs, "{path}");
        }
    }

    #[test]
    fn what_templates_do_not_need_is_left_out() {
        for path in [
            "hooks/batchhooks",
            "docs/README.md",
            "openapi/values.yaml",
            ".helmignore",
            "package.yaml",
            "values.yaml",
            "Chart.yaml",
            "tenantry.json",
            "templates",
            "deep/x.json",
        ] {
            assert_eq!(placed(path), Placed::LeftOut, "{path}");
        }
    }

    #[test]
    fn s22_definitions_in_a_subchart_are_known_before_helm_sees_them() {
        assert_eq!(placed("charts/a/crds/foo.yaml"), Placed::Definitions);
        assert_eq!(
            placed("charts/a/charts/b/crds/foo.yaml"),
            Placed::Definitions
        );
        assert_eq!(placed("charts/crds/templates/a.yaml"), Placed::AsItIs);
    }

    #[test]
    fn the_prelude_keeps_the_numbers_of_lines() {
        assert!(!PRELUDE.contains('\n') && PRELUDE.contains(CONTEXT_FILE));
        assert!(description("shop", "v1.2.3").contains("\"version\":\"1.2.3\""));
    }
}
