//! What the environment may set, read once.

use std::sync::OnceLock;

/// The settings of this process.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// `SOFTGPU_DEVICES`: how many devices there are.
    pub devices: usize,
    /// `SOFTGPU_MEMORY`: bytes of memory per device; suffixes K, M and G are understood.
    pub memory: u64,
    /// `SOFTGPU_CUDA_VERSION`: what `cuDriverGetVersion` reports, and the newest symbol handed out.
    pub cuda_version: i32,
    /// `SOFTGPU_HIP_VERSION`: what `hipDriverGetVersion` and `hipRuntimeGetVersion` report.
    pub hip_version: i32,
    /// `SOFTGPU_HW_QUEUES`: how many hardware queues the streams of a device share; 0 gives every stream its own.
    pub hardware_queues: u64,
}

/// The most devices a process may ask for: peer masks are 64 bits wide.
const MAX_DEVICES: usize = 64;

/// The settings. Values that are not understood count as unset.
pub fn config() -> &'static Config {
    static CONFIG: OnceLock<Config> = OnceLock::new();
    CONFIG.get_or_init(|| Config {
        devices: number("SOFTGPU_DEVICES", 1).min(MAX_DEVICES as u64) as usize,
        memory: number("SOFTGPU_MEMORY", 4 << 30),
        cuda_version: version("SOFTGPU_CUDA_VERSION", 12_080),
        hip_version: version("SOFTGPU_HIP_VERSION", 60_342_134),
        hardware_queues: number("SOFTGPU_HW_QUEUES", 0),
    })
}

fn version(name: &str, default: i32) -> i32 {
    i32::try_from(number(name, default as u64)).unwrap_or(default)
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| parse_size(&text)).unwrap_or(default)
}

fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let (digits, shift) = match text.chars().last()?.to_ascii_uppercase() {
        'K' => (&text[..text.len() - 1], 10),
        'M' => (&text[..text.len() - 1], 20),
        'G' => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    digits.trim().parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::parse_size;

    #[test]
    fn sizes_take_suffixes_and_refuse_nonsense() {
        assert_eq!(parse_size("12"), Some(12));
        assert_eq!(parse_size(" 4g "), Some(4 << 30));
        assert_eq!(parse_size("64M"), Some(64 << 20));
        for bad in ["", "G", "-1", "1.5G", "99999999999999999999", "18446744073709551615K"] {
            assert_eq!(parse_size(bad), None, "{bad}");
        }
    }
}
