//! Logs: format and level. It decides nothing about what is logged.

use tracing_subscriber::EnvFilter;

use crate::cli::LogFormat;

/// Libraries below `info` are asked for by name only: at trace level some of them print request bodies and headers.
const QUIET: &str = "hyper=warn,hyper_util=warn,h2=warn,rustls=warn,reqwest=warn,rustify=warn,vaultrs=warn,tower=warn,tokio_postgres=warn,kube_client=warn";

/// Sends logs to stderr; the level comes from `RUST_LOG`, default `info`.
pub fn init(format: LogFormat) {
    let wanted = std::env::var("RUST_LOG").unwrap_or_else(|_| "info".to_owned());
    let filter =
        EnvFilter::try_new(format!("{wanted},{QUIET}")).unwrap_or_else(|_| EnvFilter::new("info"));
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    match format {
        LogFormat::Json => builder
            .json()
            .flatten_event(true)
            .with_current_span(true)
            .with_span_list(false)
            .init(),
        LogFormat::Human => builder.init(),
    }
}
