//! The location of a store: a folder, or a URL in an object store.

use super::Error;
use std::path::{Path, PathBuf, absolute};

/// The location of a store, in a form that is valid in every process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Location {
    /// An absolute path.
    Folder(PathBuf),
    /// A URL whose path does not end with a slash, unless the path is only a slash.
    #[cfg(feature = "object-stores")]
    Url(url::Url),
}

/// Returns the scheme of a URL, which is the text before `://`, or `None` if the name is not a URL.
fn scheme(name: &Path) -> Option<&str> {
    let (scheme, _) = name.to_str()?.split_once("://")?;
    let mut characters = scheme.chars();
    let is_allowed =
        |character: char| character.is_ascii_alphanumeric() || "+-.".contains(character);
    (characters.next()?.is_ascii_alphabetic() && characters.all(is_allowed)).then_some(scheme)
}

/// Returns whether a name is a URL or the path of an existing folder. Such names are assumed to be stores, and all
/// other names are assumed to be files.
pub fn is_store(name: &Path) -> bool {
    is_url(name) || name.is_dir()
}

/// Returns whether a name is a URL.
pub(crate) fn is_url(name: &Path) -> bool {
    scheme(name).is_some()
}

impl Location {
    /// Returns the location with this name, a path or a URL. Nothing needs to exist there.
    pub(crate) fn new(name: &Path) -> Result<Self, Error> {
        if is_url(name) {
            return Self::url(name);
        }
        let folder = absolute(name).map_err(|error| {
            Error::usage(format_args!("cannot find {}: {error}", name.display()))
        })?;
        // Jobs and the attributes of results contain names in JSON, which is UTF-8.
        if folder.to_str().is_none() {
            return Err(Error::usage(format_args!(
                "{folder:?}: a path must be UTF-8, and the bytes shown as \\x… are not: rename it, or name a symbolic link \
                 to it"
            )));
        }
        Ok(Self::Folder(folder))
    }

    #[cfg(feature = "object-stores")]
    fn url(name: &Path) -> Result<Self, Error> {
        const KNOWN_SCHEMES: [&str; 7] = ["s3", "gs", "az", "abfs", "abfss", "http", "https"];
        let shown_name = name.display();
        let refused = |problem: &str| Err(Error::usage(format_args!("{shown_name}: {problem}")));
        let Ok(mut url) = url::Url::parse(&name.to_string_lossy()) else {
            return refused("this is no URL: write it as in s3://bucket/path/a.zarr");
        };
        if url.scheme() == "file" {
            return refused("a folder is named by its path, without file://");
        }
        if !KNOWN_SCHEMES.contains(&url.scheme()) {
            return refused("the scheme is unknown: it must be s3, gs, az, abfs, http or https");
        }
        if url.host_str().is_none_or(str::is_empty) {
            return refused("there is no bucket or host: write it as in s3://bucket/path/a.zarr");
        }
        // A password is rejected, because errors and the attributes of results contain the URL, and other people read
        // them.
        if url.password().is_some() {
            let mut shown_url = url.clone();
            let _ = shown_url.set_password(None);
            return Err(Error::usage(format_args!(
                "{shown_url}: a URL must have no password, which others would read: set the variables of the \
                 environment that the object store knows, such as AWS_SECRET_ACCESS_KEY"
            )));
        }
        if url.query().is_some() || url.fragment().is_some() {
            url.set_query(None);
            url.set_fragment(None);
            return Err(Error::usage(format_args!(
                "{url}: a URL must end with the array's path, without ? and #: set the variables of the \
                 environment that the object store knows, such as AZURE_STORAGE_SAS_TOKEN"
            )));
        }
        let path = url.path().trim_end_matches('/').to_owned();
        if path.contains("//") {
            return refused("its path has an empty part: write one slash between two names");
        }
        url.set_path(&path);
        Ok(Self::Url(url))
    }

    #[cfg(not(feature = "object-stores"))]
    fn url(name: &Path) -> Result<Self, Error> {
        Err(Error::usage(format_args!(
            "{}: this program was built without the feature \"object-stores\", which URLs need",
            name.display()
        )))
    }

    /// Returns the parent location, or `None` for a root or a bucket.
    pub(crate) fn parent(&self) -> Option<Self> {
        match self {
            Self::Folder(path) => Some(Self::Folder(path.parent()?.to_owned())),
            #[cfg(feature = "object-stores")]
            Self::Url(url) => {
                let (parent, _) = url.path().rsplit_once('/').filter(|_| url.path() != "/")?;
                let mut url = url.clone();
                url.set_path(parent);
                Some(Self::Url(url))
            }
        }
    }

    /// Returns an error if the location is an HTTP URL, where no result can be written.
    pub(crate) fn check_writable(&self) -> Result<(), Error> {
        match self {
            #[cfg(feature = "object-stores")]
            Self::Url(url) if matches!(url.scheme(), "http" | "https") => {
                Err(Error::usage(format_args!(
                    "{url}: a result cannot be written by HTTP: name a folder, or a URL of s3, gs, az or abfs"
                )))
            }
            _ => Ok(()),
        }
    }

    /// Returns whether one of the locations is the other or is inside it. Resolves symbolic links in the paths of
    /// folders.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Folder(a), Self::Folder(b)) => {
                let (a, b) = (real_path(a), real_path(b));
                a.starts_with(&b) || b.starts_with(&a)
            }
            #[cfg(feature = "object-stores")]
            (Self::Url(a), Self::Url(b)) => {
                let [a, b] = [a, b].map(|url| format!("{}/", url.as_str().trim_end_matches('/')));
                a.starts_with(&b) || b.starts_with(&a)
            }
            #[cfg(feature = "object-stores")]
            _ => false,
        }
    }

    /// Returns the name from which [`Location::new`] makes this location.
    pub(crate) fn into_name(self) -> PathBuf {
        match self {
            Self::Folder(path) => path,
            #[cfg(feature = "object-stores")]
            Self::Url(url) => url.as_str().trim_end_matches('/').into(),
        }
    }
}

/// Returns the path without symbolic links. If the path does not exist yet, resolves the links in its longest existing
/// part.
fn real_path(path: &Path) -> PathBuf {
    let found = path.ancestors().find_map(|folder| {
        let real_path = folder.canonicalize().ok()?;
        Some(real_path.join(path.strip_prefix(folder).ok()?))
    });
    found.unwrap_or_else(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_with_a_scheme_are_urls() {
        for name in ["a.zarr", "/a/b", "a:/b", "://a", "1s://a", "a b://c", ""] {
            assert!(!is_url(Path::new(name)), "{name}");
        }
        assert!(is_url(Path::new("s3://bucket/a.zarr")));
        assert!(is_store(Path::new("ftp://host/a.zarr")));
    }

    #[cfg(unix)]
    #[test]
    fn a_path_that_is_not_utf8_is_refused() {
        use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
        let name = Path::new(OsStr::from_bytes(b"photos-\xff/a.zarr"));
        let refused = Location::new(name).unwrap_err().to_string();
        assert!(
            refused.contains("UTF-8") && refused.contains(r"photos-\xFF/a.zarr"),
            "{refused}"
        );
    }

    #[cfg(feature = "object-stores")]
    #[test]
    fn urls_are_checked_and_compared() {
        let refused = |name: &str| Location::new(Path::new(name)).unwrap_err().to_string();
        for (name, expected) in [
            ("ftp://host/a.zarr", "s3, gs, az"),
            ("file:///a.zarr", "without file://"),
            ("s3:///a.zarr", "no bucket"),
            ("s3://bucket/a//b", "empty part"),
            ("http://user:secret@host/a", "password"),
            ("https://host/a.zarr?sig=secret", "without ? and #"),
            ("s3://bucket/a#b", "without ? and #"),
            ("http://", "write it as"),
        ] {
            let refused = refused(name);
            assert!(refused.contains(expected), "{name}: {refused}");
            assert!(!refused.contains("secret"), "{refused}");
        }
        let at = |name: &str| Location::new(Path::new(name)).unwrap();
        let overlap = |a: &str, b: &str| at(a).overlaps(&at(b)) && at(b).overlaps(&at(a));
        assert!(overlap("s3://bucket/a.zarr/", "s3://bucket/a.zarr"));
        assert!(overlap("s3://bucket/a.zarr", "s3://bucket/a.zarr/b.zarr"));
        assert!(overlap("s3://bucket", "s3://bucket/a.zarr"));
        assert!(!overlap("s3://bucket/a.zarr", "s3://bucket/a.zarr2"));
        assert!(!overlap("s3://bucket/a.zarr", "gs://bucket/a.zarr"));
        assert!(!overlap("s3://bucket/a.zarr", "/bucket/a.zarr"));
        assert_eq!(
            at("s3://bucket/x y/a.zarr/").into_name(),
            Path::new("s3://bucket/x%20y/a.zarr")
        );
        assert_eq!(at("s3://bucket/").into_name(), Path::new("s3://bucket"));
        assert_eq!(at("s3://bucket/a/b").parent(), Some(at("s3://bucket/a")));
        let bucket = at("s3://bucket/a").parent().unwrap();
        assert_eq!(bucket.parent(), None);
        assert_eq!(bucket.into_name(), Path::new("s3://bucket"));
        assert!(at("https://host/a.zarr").check_writable().is_err());
        assert!(at("az://box/a.zarr").check_writable().is_ok());
    }

    #[cfg(not(feature = "object-stores"))]
    #[test]
    fn a_url_names_the_feature_that_it_needs() {
        let refused = Location::new(Path::new("s3://bucket/a.zarr")).unwrap_err();
        assert!(
            refused.to_string().contains("\"object-stores\""),
            "{refused}"
        );
    }
}
