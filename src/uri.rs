//! Names of devices.

use crate::{
    Device, DeviceParams, Driver, DriverChoice, Error, ErrorKind, Result, backends, enumerate, load,
};
use std::path::PathBuf;
use std::sync::Arc;

/// A name, taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Uri {
    backend: &'static str,
    choice: DriverChoice,
    device: Selector,
}

#[derive(Debug, PartialEq, Eq)]
enum Selector {
    Ordinal(u32),
    Uuid(String),
}

/// Takes a name apart.
///
/// # Errors
/// `InvalidArgument`, saying what is wrong and which names there are.
pub(crate) fn parse(uri: &str) -> Result<Uri> {
    take_apart(uri).map_err(|why| {
        let found: Vec<String> = enumerate()
            .iter()
            .flat_map(|report| report.devices().iter().map(|device| report.uri(device)))
            .collect();
        let found = match &found[..] {
            [] => "no device was found, `hal::enumerate` says why".to_owned(),
            found => format!("the devices here are {}", found.join(", ")),
        };
        Error::new(ErrorKind::InvalidArgument, format!("`{uri}` is no device URI: {why}; {found}"))
    })
}

fn take_apart(uri: &str) -> Result<Uri, String> {
    let (name, query) = match uri.split_once('?') {
        Some((name, query)) => (name, Some(query)),
        None => (uri, None),
    };
    let choice = query.map(driver_choice).transpose()?;
    let (scheme, rest) = name.split_once("://").unwrap_or((name, ""));
    if scheme != "soft" {
        let device = selector(rest)?;
        return Ok(Uri { backend: backend(scheme)?, choice: choice.unwrap_or_default(), device });
    }
    if choice.is_some_and(|choice| choice != DriverChoice::Soft) {
        return Err("`soft` is a driver already; name the backend to choose another".into());
    }
    let (name, device) = rest.split_once('/').unwrap_or((rest, ""));
    let name = match (name, backends()) {
        ("", [first, ..]) => first,
        (name, _) => name,
    };
    Ok(Uri { backend: backend(name)?, choice: DriverChoice::Soft, device: selector(device)? })
}

fn backend(name: &str) -> Result<&'static str, String> {
    crate::backends::name(name).map_err(|error| error.message().to_owned())
}

fn driver_choice(query: &str) -> Result<DriverChoice, String> {
    match query.strip_prefix("driver=") {
        None => Err(format!("`?{query}` is not understood; only `?driver=` is")),
        Some("") => Err("`?driver=` names no driver; write system, soft or a library's path".into()),
        Some("auto") => Ok(DriverChoice::Auto),
        Some("system") => Ok(DriverChoice::System),
        Some("soft") => Ok(DriverChoice::Soft),
        Some(path) => Ok(DriverChoice::Path(PathBuf::from(path))),
    }
}

fn selector(text: &str) -> Result<Selector, String> {
    if text.is_empty() {
        return Ok(Selector::Ordinal(0));
    }
    if text.starts_with("GPU-") {
        return Ok(Selector::Uuid(text.to_owned()));
    }
    text.parse().map(Selector::Ordinal).map_err(|_| format!("`{text}` is neither a number nor a GPU-uuid"))
}

impl Uri {
    /// Opens what it names.
    pub(crate) fn open(&self, params: &DeviceParams) -> Result<Arc<dyn Device>> {
        let driver = load(self.backend, &self.choice)?;
        let ordinal = match &self.device {
            Selector::Ordinal(ordinal) => *ordinal,
            Selector::Uuid(uuid) => find(&*driver, uuid)?,
        };
        driver.open(ordinal, params)
    }
}

fn find(driver: &dyn Driver, uuid: &str) -> Result<u32> {
    let devices = driver.devices()?;
    let found = devices.iter().find(|device| device.uuid.eq_ignore_ascii_case(uuid));
    found.map(|device| device.ordinal).ok_or_else(|| {
        let present: Vec<&str> = devices.iter().map(|device| &*device.uuid).collect();
        Error::new(
            ErrorKind::NotFound,
            format!(
                "no device {uuid}; the {} driver of {} has {}: {}",
                driver.info().kind,
                driver.info().backend,
                present.len(),
                present.join(", ")
            ),
        )
    })
}

#[cfg(test)]
#[cfg(all(feature = "cuda", feature = "hip"))]
mod tests {
    use super::*;

    fn parsed(uri: &str) -> (&'static str, DriverChoice, Selector) {
        let Uri { backend, choice, device } = take_apart(uri).unwrap();
        (backend, choice, device)
    }

    #[test]
    fn names_are_taken_apart() {
        use DriverChoice::{Auto, Path, Soft, System};
        use Selector::{Ordinal, Uuid};
        assert_eq!(parsed("cuda"), ("cuda", Auto, Ordinal(0)));
        assert_eq!(parsed("hip://3"), ("hip", Auto, Ordinal(3)));
        assert_eq!(parsed("cuda?driver=system"), ("cuda", System, Ordinal(0)));
        assert_eq!(parsed("hip://1?driver=soft"), ("hip", Soft, Ordinal(1)));
        assert_eq!(parsed("cuda://0?driver=/a/b.so"), ("cuda", Path("/a/b.so".into()), Ordinal(0)));
        assert_eq!(parsed("cuda://GPU-12"), ("cuda", Auto, Uuid("GPU-12".into())));
        assert_eq!(parsed("soft"), ("cuda", Soft, Ordinal(0)));
        assert_eq!(parsed("soft://hip"), ("hip", Soft, Ordinal(0)));
        assert_eq!(parsed("soft://cuda/2"), ("cuda", Soft, Ordinal(2)));
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for wrong in [
            "",
            "vulkan://0",
            "cuda://x",
            "cuda://-1",
            "cuda://99999999999",
            "cuda?device=1",
            "cuda?driver=",
            "soft://metal/0",
            "soft?driver=system",
            "CUDA",
        ] {
            assert!(take_apart(wrong).is_err(), "{wrong}");
        }
    }
}
