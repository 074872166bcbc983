//! What a replica shares with the others, built from the options: the serving pair and the election.
//!
//! It builds and checks that the options fit together; it decides nothing else.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use futures::FutureExt;
use futures::future::BoxFuture;
use kube::Client;
use tokio_util::sync::CancellationToken;

use super::RunError;
use crate::adapters::kubernetes::DEADLINE;
use crate::adapters::kubernetes::events::Events;
use crate::adapters::kubernetes::lease::ClusterLease;
use crate::adapters::serving::SelfSigned;
use crate::cli::RunOptions;
use crate::leader::{self, Elector, Leading, Times};
use crate::serving::{self, SelfSignedPair};

/// Follows the serving pair until the token is cancelled.
pub(super) type Upkeep = Box<dyn FnOnce(CancellationToken) -> BoxFuture<'static, ()> + Send>;

/// The serving pair of the files, unless the process makes it. It needs no cluster, so a wrong file is told first.
pub(super) fn serving_files(
    options: &RunOptions,
) -> Result<Option<Arc<certs::CertStore>>, RunError> {
    if options.self_signed.self_signed {
        return Ok(None);
    }
    let pair = certs::PairFiles {
        certificate: options.serving.tls_cert_file.clone().unwrap_or_default(),
        key: options.serving.tls_key_file.clone().unwrap_or_default(),
    };
    Ok(Some(Arc::new(certs::CertStore::load(pair)?)))
}

/// The serving pair, whether it is trusted if that is ours to arrange, and its upkeep.
pub(super) async fn serving(
    options: &RunOptions,
    files: Option<Arc<certs::CertStore>>,
    client: &Client,
    namespace: &str,
) -> Result<(Arc<certs::CertStore>, Option<Arc<AtomicBool>>, Upkeep), RunError> {
    let events = Events::new(client.clone());
    if let Some(store) = files {
        let followed = Arc::clone(&store);
        let interval = options.serving.tls_reload_interval;
        let upkeep = move |stop| serving::follow_files(followed, events, interval, stop).boxed();
        return Ok((store, None, Box::new(upkeep)));
    }
    let options = &options.self_signed;
    let service = &options.self_signed_service;
    let mut names = vec![
        format!("{service}.{namespace}.svc"),
        format!("{service}.{namespace}"),
        service.clone(),
    ];
    names.extend(options.self_signed_name.iter().cloned());
    let wishes = certs::upkeep::Wishes {
        names,
        authority: options.self_signed_authority_lifetime,
        pair: options.self_signed_certificate_lifetime,
    };
    if !wishes.is_consistent() {
        return Err(RunError::Lifetimes);
    }
    let kept = SelfSigned::new(
        client.clone(),
        namespace,
        (
            &options.self_signed_secret,
            options.webhook_configuration.as_deref(),
        ),
        wishes,
        DEADLINE,
    );
    let pair = SelfSignedPair::begin(kept, events).await?;
    let (store, trusted) = (Arc::clone(&pair.store), Arc::clone(&pair.trusted));
    let interval = options.self_signed_interval;
    let upkeep = move |stop| pair.keep_up(interval, stop).boxed();
    Ok((store, Some(trusted), Box::new(upkeep)))
}

/// The election, if there is one.
pub(super) fn election(
    options: &RunOptions,
    client: &Client,
    default_namespace: &str,
) -> Result<(Option<Elector<ClusterLease>>, Leading), RunError> {
    let options = &options.election;
    if !options.leader_elect {
        return Ok((None, Leading::always()));
    }
    let times = Times {
        lease: options.leader_elect_lease_duration,
        renew: options.leader_elect_renew_deadline,
        retry: options.leader_elect_retry_period,
    };
    if !times.is_consistent() {
        return Err(RunError::ElectionTimes);
    }
    let namespace = options.leader_elect_resource_namespace.as_deref();
    let namespace = namespace.unwrap_or(default_namespace);
    let name = &options.leader_elect_resource_name;
    let lease = ClusterLease::new(client.clone(), namespace, name, times.renew);
    let (elector, leading) = Elector::new(lease, leader::identity(), times);
    Ok((Some(elector), leading))
}
