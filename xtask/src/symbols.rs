//! `cargo xtask symbols`: compare a backend's symbol table with a library.

use hal::{DriverChoice, Row, SymbolReport, SymbolState};
use std::path::PathBuf;

/// Options of `cargo xtask symbols`.
#[derive(clap::Args)]
pub struct Args {
    /// cuda or hip
    backend: String,
    /// This library [default: the system's]
    #[arg(long, value_name = "PATH", conflicts_with = "soft")]
    library: Option<PathBuf>,
    /// The software GPU inside this program
    #[arg(long)]
    soft: bool,
}

pub fn run(args: Args) -> anyhow::Result<()> {
    let choice = match args.library {
        Some(path) => DriverChoice::Path(path),
        None if args.soft => DriverChoice::Soft,
        None => DriverChoice::System,
    };
    let report = hal::symbols(&args.backend, &choice)?;
    report.rows.iter().for_each(|(row, state)| println!("{}", line(row, *state)));
    println!("{}", summary(&report));
    anyhow::ensure!(count(&report, SymbolState::MissingRequired) == 0, "the library cannot be used");
    Ok(())
}

fn line(row: &Row, state: SymbolState) -> String {
    let state = match state {
        SymbolState::Found => "found",
        SymbolState::MissingRequired => "missing-required",
        SymbolState::MissingOptional => "missing-optional",
    };
    format!("{state:16}  {:9}  {}", row.version, row.exported)
}

fn summary(report: &SymbolReport) -> String {
    format!(
        "{}: {} found, {} required missing, {} optional missing",
        report.library,
        count(report, SymbolState::Found),
        count(report, SymbolState::MissingRequired),
        count(report, SymbolState::MissingOptional)
    )
}

fn count(report: &SymbolReport, state: SymbolState) -> usize {
    report.rows.iter().filter(|(_, found)| *found == state).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_software_gpu_lacks_nothing() {
        let report = hal::symbols("cuda", &DriverChoice::Soft).unwrap();
        assert!(report.rows.len() > 30);
        assert_eq!(count(&report, SymbolState::MissingRequired), 0, "{}", summary(&report));
    }

    #[test]
    fn a_library_that_is_no_driver_lacks_everything() {
        let report = hal::symbols("hip", &DriverChoice::Path("libc.so.6".into())).unwrap();
        let required = count(&report, SymbolState::MissingRequired);
        let optional = report.rows.len() - required;
        assert!(required > 30, "{}", summary(&report));
        assert_eq!(
            summary(&report),
            format!("libc.so.6: 0 found, {required} required missing, {optional} optional missing")
        );
        assert!(line(&report.rows[0].0, report.rows[0].1).starts_with("missing-required"));
    }
}
