//! In whose words an error about a registry's settings is told.

/// Who gave the settings; it decides how an error names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// A PackageRepository.
    Spec,
    /// The flags of `tenantry package push`.
    Flags,
}

impl Origin {
    pub(super) const fn credentials(self) -> &'static str {
        match self {
            Self::Spec => "spec.registry.dockerCfg (or login and password)",
            Self::Flags => {
                "docker's config file (docker login, or another one with --docker-config)"
            }
        }
    }

    pub(super) const fn authority(self) -> &'static str {
        match self {
            Self::Spec => "spec.registry.ca",
            Self::Flags => "--ca-file",
        }
    }

    pub(super) const fn plain(self) -> &'static str {
        match self {
            Self::Spec => "spec.registry.scheme: HTTP",
            Self::Flags => "--plain-http",
        }
    }

    pub(super) const fn repository(self) -> &'static str {
        match self {
            Self::Spec => "spec.registry.repo",
            Self::Flags => "REPO",
        }
    }
}
