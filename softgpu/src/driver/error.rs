//! What a driver call may answer, and the text of the last fault.

use parking_lot::Mutex;

/// Why a call failed.
///
/// Numbered as `CUresult`: an ABI with other numbers maps them where it returns, nowhere else. A newtype and not an
/// enum, since injected codes may be anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Error(pub i32);

/// What every call of the driver core returns.
pub type Result<T> = std::result::Result<T, Error>;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $code:literal;)*) => {
        impl Error {
            $($(#[$doc])* pub const $name: Self = Self($code);)*
        }
    };
}

codes! {
    /// An argument is wrong.
    INVALID_VALUE = 1;
    /// Device or host memory is used up.
    OUT_OF_MEMORY = 2;
    /// The ABI's init function was not called.
    NOT_INITIALIZED = 3;
    /// The driver is shutting down.
    DEINITIALIZED = 4;
    /// The machine has no device.
    NO_DEVICE = 100;
    /// There is no device of that ordinal.
    INVALID_DEVICE = 101;
    /// The module image is of no known kind.
    INVALID_IMAGE = 200;
    /// No context is current, or the handle is no context.
    INVALID_CONTEXT = 201;
    /// The image holds code for other machines only.
    NO_BINARY_FOR_GPU = 209;
    /// A limit that this device does not have.
    UNSUPPORTED_LIMIT = 215;
    /// The devices cannot reach each other's memory.
    PEER_ACCESS_UNSUPPORTED = 217;
    /// The PTX text does not translate.
    INVALID_PTX = 218;
    /// A system call failed.
    OPERATING_SYSTEM = 304;
    /// The handle is unknown, destroyed, or of another kind.
    INVALID_HANDLE = 400;
    /// The object is in the wrong state.
    ILLEGAL_STATE = 401;
    /// No such symbol.
    NOT_FOUND = 500;
    /// Work is not complete yet. Not a failure.
    NOT_READY = 600;
    /// A kernel or a copy touched memory it may not. Sticky.
    ILLEGAL_ADDRESS = 700;
    /// The launch needs more than the device has.
    LAUNCH_OUT_OF_RESOURCES = 701;
    /// A kernel ran too long. Sticky.
    LAUNCH_TIMEOUT = 702;
    /// Peer access is on already.
    PEER_ACCESS_ALREADY_ENABLED = 704;
    /// Peer access is not on.
    PEER_ACCESS_NOT_ENABLED = 705;
    /// The primary context is in use.
    PRIMARY_CONTEXT_ACTIVE = 708;
    /// The context is gone.
    CONTEXT_IS_DESTROYED = 709;
    /// A device-side assertion failed. Sticky.
    ASSERT = 710;
    /// The host range overlaps one that is registered.
    HOST_MEMORY_ALREADY_REGISTERED = 712;
    /// The host range is not registered.
    HOST_MEMORY_NOT_REGISTERED = 713;
    /// The device's stack overflowed. Sticky.
    HARDWARE_STACK_ERROR = 714;
    /// A kernel ran an instruction the device cannot honour. Sticky.
    ILLEGAL_INSTRUCTION = 715;
    /// A kernel made an unaligned access. Sticky.
    MISALIGNED_ADDRESS = 716;
    /// A kernel used an address in the wrong state space. Sticky.
    INVALID_ADDRESS_SPACE = 717;
    /// A kernel failed in another way. Sticky.
    LAUNCH_FAILED = 719;
    /// Not allowed here, for example from a host function of a stream.
    NOT_PERMITTED = 800;
    /// The software GPU does not do this.
    NOT_SUPPORTED = 801;
    /// A call that a capturing stream, or a capture elsewhere, does not permit.
    STREAM_CAPTURE_UNSUPPORTED = 900;
    /// The capture was invalidated by an earlier call.
    STREAM_CAPTURE_INVALIDATED = 901;
    /// The call would have merged two captures.
    STREAM_CAPTURE_MERGE = 902;
    /// The capture did not begin on this stream.
    STREAM_CAPTURE_UNMATCHED = 903;
    /// A stream that joined the capture was not joined back.
    STREAM_CAPTURE_UNJOINED = 904;
    /// A capturing stream would have depended on work that is not captured.
    STREAM_CAPTURE_ISOLATION = 905;
    /// The call would have made the null stream depend on a capture.
    STREAM_CAPTURE_IMPLICIT = 906;
    /// The event was last recorded in a capture.
    CAPTURED_EVENT = 907;
    /// The capture began on another thread.
    STREAM_CAPTURE_WRONG_THREAD = 908;
    /// A defect of the software GPU.
    UNKNOWN = 999;
}

impl Error {
    /// The code that a fault of a kernel leaves in its context.
    pub fn of_fault(fault: &crate::exec::Fault) -> Self {
        use crate::exec::Fault;
        match fault {
            Fault::IllegalAddress { .. } => Self::ILLEGAL_ADDRESS,
            Fault::Misaligned { .. } => Self::MISALIGNED_ADDRESS,
            Fault::InvalidAddressSpace { .. } => Self::INVALID_ADDRESS_SPACE,
            Fault::Assert { .. } => Self::ASSERT,
            Fault::IllegalInstruction { .. } => Self::ILLEGAL_INSTRUCTION,
            Fault::Stack { .. } => Self::HARDWARE_STACK_ERROR,
            Fault::Deadlock { .. } | Fault::Stopped { .. } => Self::LAUNCH_TIMEOUT,
            Fault::Trap { .. } | Fault::InvalidLaunch { .. } => Self::LAUNCH_FAILED,
        }
    }

    /// Whether the vendor documents that the code stays in the context for good.
    pub fn is_sticky(self) -> bool {
        matches!(self.0, 214 | 220 | 226 | 700 | 702 | 710 | 714..=719 | 721 | 911)
    }
}

static LAST_FAULT: Mutex<Option<String>> = Mutex::new(None);

/// Keeps the text of a fault for [`last_fault`], if `publish` makes the fault known. Who learns of the fault that way
/// finds the text.
pub(super) fn set_last_fault(text: String, publish: impl FnOnce() -> bool) -> bool {
    let mut last = LAST_FAULT.lock();
    let published = publish();
    if published {
        *last = Some(text);
    }
    published
}

/// What the last fault on any device was: which kernel, which thread, which address. Hardware keeps this to itself.
pub fn last_fault() -> Option<String> {
    LAST_FAULT.lock().clone()
}
