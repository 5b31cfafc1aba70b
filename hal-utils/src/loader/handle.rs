//! Handles that drivers give out.

/// Defines a type for a driver's handle: a pointer that means something to the driver only, which takes it from any
/// thread.
#[macro_export]
macro_rules! native_handle {
    ($($(#[$attribute:meta])* pub struct $name:ident($raw:ty);)*) => {$(
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub struct $name(pub $raw);

        // SAFETY: never dereferenced on this side; the driver takes its handles from any thread.
        unsafe impl Send for $name {}
        // SAFETY: as above.
        unsafe impl Sync for $name {}

        impl $crate::native::Handle for $name {
            fn raw(self) -> usize {
                self.0.expose_provenance()
            }

            fn from_raw(raw: usize) -> Self {
                $name(::std::ptr::with_exposed_provenance_mut(raw))
            }
        }
    )*};
}
