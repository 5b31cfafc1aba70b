//! `cargo xtask softgpu`: the software GPU as a driver, in a folder that any driver-API client can be pointed at.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::artifacts;

/// The package that builds the library.
pub const PACKAGE: &str = "softgpu-driver";
/// The library as cargo names it, and as it stands in the folder.
const LIBRARY: &str = "libsoftgpu.so";
/// The names under which programs look for a driver.
const NAMES: [&str; 5] =
    ["libcuda.so", "libcuda.so.1", "libamdhip64.so", "libamdhip64.so.6", "libamdhip64.so.7"];

#[derive(clap::Args)]
pub struct Args {}

pub fn run(_args: Args) -> anyhow::Result<()> {
    println!("{}", install(&artifacts::build(&[PACKAGE])?)?.display());
    Ok(())
}

/// Makes target/softgpu from what was built, and returns it.
pub fn install(files: &[PathBuf]) -> anyhow::Result<PathBuf> {
    let library = artifacts::find(files, LIBRARY)?;
    let folder = artifacts::target_directory()?.join("softgpu");
    make(&library, &folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

/// Every name appears whole or not at all, and never changes under a program that has the old library open.
fn make(library: &Path, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    replace(&folder.join(LIBRARY), |temporary| fs::copy(library, temporary).map(drop))?;
    for name in NAMES {
        // Relative, so that the folder can be moved.
        replace(&folder.join(name), |temporary| symlink(LIBRARY, temporary))?;
    }
    Ok(())
}

/// Makes a file under another name and then moves it into its place.
fn replace(path: &Path, create: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(".{}.tmp", std::process::id()));
    let temporary = Path::new(&temporary);
    match fs::remove_file(temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    create(temporary)?;
    fs::rename(temporary, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_has_every_name_and_can_be_made_again() {
        let root = std::env::temp_dir().join(format!("xtask-softgpu-{}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        let (library, folder) = (root.join("built.so"), root.join("softgpu"));
        for contents in ["old", "new"] {
            fs::write(&library, contents).unwrap();
            make(&library, &folder).unwrap();
            for name in NAMES {
                assert_eq!(fs::read_to_string(folder.join(name)).unwrap(), contents);
                assert_eq!(fs::read_link(folder.join(name)).unwrap(), Path::new(LIBRARY));
            }
        }
        assert_eq!(fs::read_dir(&folder).unwrap().count(), NAMES.len() + 1);
        fs::remove_dir_all(&root).unwrap();
    }
}
