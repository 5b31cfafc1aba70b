//! What there is on this machine.

use crate::{DeviceInfo, DriverChoice, DriverInfo, Error, backends, load};

/// A driver that was looked for.
#[derive(Clone, Debug)]
pub struct DriverReport {
    /// The backend it is for.
    pub backend: &'static str,
    /// Which one was looked for: [`System`](DriverChoice::System) or [`Soft`](DriverChoice::Soft).
    pub choice: DriverChoice,
    /// What is known of it and its devices, or why it cannot be used.
    pub outcome: Result<(DriverInfo, Vec<DeviceInfo>), Error>,
}

impl DriverReport {
    /// Its devices; none, if it cannot be used.
    pub fn devices(&self) -> &[DeviceInfo] {
        self.outcome.as_ref().map_or(&[], |(_, devices)| devices)
    }

    /// The URI that [`open`](crate::open)s one of its devices.
    pub fn uri(&self, device: &DeviceInfo) -> String {
        match self.choice {
            DriverChoice::Soft => format!("soft://{}/{}", self.backend, device.ordinal),
            _ => device.uri(),
        }
    }
}

/// Looks for the system's and the software GPU's driver of every backend. Opens no device and creates no context.
pub fn enumerate() -> Vec<DriverReport> {
    let report = |backend, choice| {
        let outcome =
            load(backend, &choice).and_then(|driver| Ok((driver.info().clone(), driver.devices()?)));
        DriverReport { backend, choice, outcome }
    };
    [DriverChoice::System, DriverChoice::Soft]
        .iter()
        .flat_map(|choice| backends().iter().map(move |backend| report(backend, choice.clone())))
        .collect()
}
