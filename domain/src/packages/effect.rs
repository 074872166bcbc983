//! What publication may ask of the API server, as data. Each effect has a stable id.
//!
//! Deadlines, metrics, failpoints and the crash tests hang on the ids; a test compares this list with the crash tests.

/// One external write of publication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PublicationEffect {
    /// Create the `PackageRepository` of a source that has none.
    CreateRepository,
    /// Record what a scan found.
    SaveRepository,
    /// Create the `ApplicationPackage`, owned by its repository.
    CreatePackage,
    /// Add our repository to the owners of an `ApplicationPackage` that another one made.
    OwnPackage,
    /// Say in an `ApplicationPackage` whether our repository offers it.
    OfferPackage,
    /// Create the `ApplicationPackageVersion` as a draft.
    CreateVersion,
    /// Set its labels; the draft label goes once its metadata are loaded.
    LabelVersion,
    /// Save metadata, schemas and `MetadataLoaded`.
    SaveVersion,
}

impl PublicationEffect {
    /// Every effect, in the order of a first publication.
    pub const ALL: [Self; 8] = [
        Self::CreateRepository,
        Self::CreatePackage,
        Self::OwnPackage,
        Self::OfferPackage,
        Self::CreateVersion,
        Self::SaveVersion,
        Self::LabelVersion,
        Self::SaveRepository,
    ];

    /// The stable id.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::CreateRepository => "repository.create",
            Self::SaveRepository => "repository.status",
            Self::CreatePackage => "package.create",
            Self::OwnPackage => "package.owner",
            Self::OfferPackage => "package.status",
            Self::CreateVersion => "version.create",
            Self::LabelVersion => "version.labels",
            Self::SaveVersion => "version.status",
        }
    }
}

/// One external write of a scan, beside those of publication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScanEffect {
    /// Create the `PackageRepositoryOperation` of a scan that is due.
    CreateOperation,
    /// Record how far an operation is.
    SaveOperation,
    /// Delete an operation that ended long ago.
    DeleteOperation,
}

impl ScanEffect {
    /// Every effect, in the order of a scan.
    pub const ALL: [Self; 3] = [
        Self::CreateOperation,
        Self::SaveOperation,
        Self::DeleteOperation,
    ];

    /// The stable id.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::CreateOperation => "operation.create",
            Self::SaveOperation => "operation.status",
            Self::DeleteOperation => "operation.delete",
        }
    }
}
