//! Images a driver is handed without their length: it reads as far as the image tells it to. Checked here, so that a
//! truncated file cannot make it read beyond.

use super::text::nul_terminated;
use hal_core::{Error, ErrorKind, Result};
use std::borrow::Cow;

/// PTX text, ending in a NUL.
///
/// # Errors
/// `InvalidArgument` if it is no text, and so something whose length the driver would take from the image itself.
pub fn ptx(image: &[u8]) -> Result<Cow<'_, [u8]>> {
    if image.starts_with(b"\x7f") || std::str::from_utf8(image).is_err() {
        return Err(invalid("PTX", "is not text; pass a binary as one"));
    }
    nul_terminated("PTX", image)
}

/// A 64-bit ELF file, of which everything its header speaks of is there.
///
/// # Errors
/// `InvalidArgument`.
pub fn elf(what: &str, image: &[u8]) -> Result<()> {
    const HEADER: usize = 64;
    if image.len() < HEADER || !image.starts_with(b"\x7fELF\x02") {
        return Err(invalid(what, "is no 64-bit ELF file"));
    }
    // Offset of each table in the header, and of its entry size and count.
    for (table, entry_size, count) in [(0x20, 0x36, 0x38), (0x28, 0x3a, 0x3c)] {
        let bytes = number(image, entry_size, 2) * number(image, count, 2);
        let end = number(image, table, 8).checked_add(bytes);
        if end.is_none_or(|end| end > image.len() as u64) {
            return Err(invalid(what, "is truncated"));
        }
    }
    Ok(())
}

/// An AMD code object: an ELF file, or a bundle of them.
///
/// # Errors
/// `InvalidArgument`.
pub fn code_object(what: &str, image: &[u8]) -> Result<()> {
    const MAGIC: &[u8] = b"__CLANG_OFFLOAD_BUNDLE__";
    if !image.starts_with(MAGIC) {
        return elf(what, image);
    }
    let mut at = MAGIC.len() + 8;
    let entries = if image.len() >= at { number(image, MAGIC.len(), 8) } else { u64::MAX };
    for _ in 0..entries {
        // Offset, size and length of the name, then the name.
        if image.len() < at + 24 {
            return Err(invalid(what, "is truncated"));
        }
        let (offset, size, name) =
            (number(image, at, 8), number(image, at + 8, 8), number(image, at + 16, 8));
        let end = offset.checked_add(size);
        if end.is_none_or(|end| end > image.len() as u64) || name > image.len() as u64 {
            return Err(invalid(what, "is truncated"));
        }
        at += 24 + name as usize;
    }
    Ok(())
}

/// A CUDA fat binary, of which everything its header speaks of is there: magic number, version, the header's size, and
/// that of what follows.
///
/// # Errors
/// `InvalidArgument`.
pub fn fat_binary(image: &[u8]) -> Result<()> {
    const HEADER: usize = 16;
    let what = "CUDA fat binary";
    if image.len() < HEADER || number(image, 0, 4) != 0xba55_ed50 {
        return Err(invalid(what, "does not begin as one"));
    }
    let end = number(image, 6, 2).checked_add(number(image, 8, 8));
    if number(image, 6, 2) < HEADER as u64 || end.is_none_or(|end| end > image.len() as u64) {
        return Err(invalid(what, "is truncated"));
    }
    Ok(())
}

/// A little-endian number of `size` bytes; the caller has checked that it is there.
fn number(image: &[u8], at: usize, size: usize) -> u64 {
    image[at..at + size].iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

fn invalid(what: &str, why: &str) -> Error {
    Error::new(ErrorKind::InvalidArgument, format!("the {what} image {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tiny_elf() -> Vec<u8> {
        let mut image = vec![0; 128];
        image[..5].copy_from_slice(b"\x7fELF\x02");
        // One section header of 64 bytes at 64.
        image[0x28] = 64;
        image[0x3a] = 64;
        image[0x3c] = 1;
        image
    }

    #[test]
    fn a_fat_binary_must_be_whole() {
        let mut image = vec![0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0, 8, 0, 0, 0, 0, 0, 0, 0];
        assert!(fat_binary(&image).unwrap_err().message().contains("truncated"));
        image.extend([0; 8]);
        fat_binary(&image).unwrap();
        image[8..16].fill(0xff);
        assert!(fat_binary(&image).is_err());
        assert!(fat_binary(&[0; 64]).is_err() && fat_binary(&[]).is_err());
    }

    #[test]
    fn an_elf_must_be_whole() {
        let image = tiny_elf();
        elf("cubin", &image).unwrap();
        for length in 0..128 {
            assert_eq!(elf("cubin", &image[..length]).unwrap_err().kind(), ErrorKind::InvalidArgument);
        }
        let mut beyond = image;
        beyond[0x20..0x28].fill(0xff);
        beyond[0x36] = 1;
        beyond[0x38] = 1;
        assert!(elf("cubin", &beyond).is_err());
    }

    #[test]
    fn a_bundle_must_be_whole() {
        let mut image = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
        for number in [1u64, 60, 4, 4] {
            image.extend(number.to_le_bytes());
        }
        image.extend(b"hostdata");
        code_object("code object", &image).unwrap();
        for length in 0..image.len() {
            assert!(code_object("code object", &image[..length]).is_err(), "{length}");
        }
    }

    #[test]
    fn text_is_text() {
        assert_eq!(&*ptx(b".version 7.0").unwrap(), b".version 7.0\0");
        assert!(ptx(b"\x7fELF").is_err());
        assert!(ptx(b"P\xedU\xba").is_err());
        assert!(ptx(b".ver\0sion").is_err());
    }
}
