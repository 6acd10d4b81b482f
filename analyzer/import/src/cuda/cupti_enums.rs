//! Enumerations of CUPTI, as runs name their values: from CUPTI's numbers, and from the words that Nsight Systems
//! and Kineto have for them.

/// Direction of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    HostToDevice,
    DeviceToHost,
    DeviceToDevice,
    PeerToPeer,
    HostToHost,
    Fill,
    Unknown,
}

impl Direction {
    /// All variants, in order of their numbers.
    pub const ALL: [Self; 7] = [
        Self::HostToDevice,
        Self::DeviceToHost,
        Self::DeviceToDevice,
        Self::PeerToPeer,
        Self::HostToHost,
        Self::Fill,
        Self::Unknown,
    ];

    /// The value of `transfers.direction`.
    pub fn name(self) -> &'static str {
        match self {
            Self::HostToDevice => "h2d",
            Self::DeviceToHost => "d2h",
            Self::DeviceToDevice => "d2d",
            Self::PeerToPeer => "p2p",
            Self::HostToHost => "h2h",
            Self::Fill => "memset",
            Self::Unknown => "unknown",
        }
    }

    /// `CUpti_ActivityMemcpyKind`; from 11 on, numbers of Nsight Systems for copies of unified memory.
    pub fn from_cupti(number: i64) -> Option<Self> {
        Some(match number {
            1 | 3 | 11 => Self::HostToDevice,
            2 | 4 | 12 => Self::DeviceToHost,
            5..=8 | 13 => Self::DeviceToDevice,
            9 => Self::HostToHost,
            10 => Self::PeerToPeer,
            _ => return None,
        })
    }

    /// `CUDA_MEMCPY_KIND_HTOD`, `Memcpy HtoD (Pinned -> Device)`, `CopyHostToDevice`.
    pub fn from_words(words: &str) -> Option<Self> {
        // rocprofv3: `MEMORY_COPY_HOST_TO_DEVICE`; XLA: `MemcpyH2D`.
        const LONG: [(&str, Direction); 10] = [
            ("hosttodevice", Direction::HostToDevice),
            ("devicetohost", Direction::DeviceToHost),
            ("devicetodevice", Direction::DeviceToDevice),
            ("peertopeer", Direction::PeerToPeer),
            ("hosttohost", Direction::HostToHost),
            ("memcpyh2d", Direction::HostToDevice),
            ("memcpyd2h", Direction::DeviceToHost),
            ("memcpyd2d", Direction::DeviceToDevice),
            ("memcpyp2p", Direction::PeerToPeer),
            ("memcpyhtod", Direction::HostToDevice),
        ];
        let ends = ["Memcpy ", "memcpy ", "CUDA_MEMCPY_KIND_"];
        let ends = ends.iter().find_map(|before| words.strip_prefix(before));
        let ends = ends.unwrap_or(words);
        let ends = ends.strip_prefix("UVM_").unwrap_or(ends);
        Some(match ends.get(..4) {
            Some("HTOD" | "HtoD" | "HTOA" | "HtoA") => Self::HostToDevice,
            Some("DTOH" | "DtoH" | "ATOH" | "AtoH") => Self::DeviceToHost,
            Some("DTOD" | "DtoD" | "ATOA" | "AtoA" | "ATOD" | "AtoD" | "DTOA" | "DtoA") => {
                Self::DeviceToDevice
            }
            Some("HTOH" | "HtoH") => Self::HostToHost,
            Some("PTOP" | "PtoP") => Self::PeerToPeer,
            _ => {
                let plain: String = words.chars().filter(|c| *c != '_' && *c != ' ').collect();
                let plain = plain.to_ascii_lowercase();
                return LONG
                    .iter()
                    .find(|(long, _)| plain.contains(long))
                    .map(|(_, direction)| *direction);
            }
        })
    }
}

/// Kind of memory at an end of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemoryKind {
    Pageable,
    Pinned,
    Device,
    Array,
    Managed,
}

impl MemoryKind {
    /// All variants, in order of their numbers.
    pub const ALL: [Self; 5] = [
        Self::Pageable,
        Self::Pinned,
        Self::Device,
        Self::Array,
        Self::Managed,
    ];

    /// The value of `transfers.src_kind` and `dst_kind`, and of `allocations.tag` where memory has no name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pageable => "pageable",
            Self::Pinned => "pinned",
            Self::Device => "device",
            Self::Array => "array",
            Self::Managed => "managed",
        }
    }

    /// `CUpti_ActivityMemoryKind`.
    pub fn from_cupti(number: i64) -> Option<Self> {
        Some(match number {
            1 => Self::Pageable,
            2 => Self::Pinned,
            3 | 6 => Self::Device,
            4 => Self::Array,
            5 | 7 => Self::Managed,
            _ => return None,
        })
    }

    /// Nsight Systems counts from 0.
    pub fn from_nsight(number: i64) -> Option<Self> {
        Self::from_cupti(number.checked_add(1)?)
    }

    /// `CUDA_MEMOPR_MEMORY_KIND_DEVICE_STATIC`, `Device Static`, `pinned`.
    pub fn from_words(words: &str) -> Option<Self> {
        let words = words
            .strip_prefix("CUDA_MEMOPR_MEMORY_KIND_")
            .unwrap_or(words);
        Some(match words.to_ascii_lowercase().as_str() {
            "pageable" => Self::Pageable,
            "pinned" => Self::Pinned,
            "device" | "device_static" | "device static" => Self::Device,
            "array" => Self::Array,
            "managed" | "managed_static" | "managed static" => Self::Managed,
            _ => return None,
        })
    }

    /// True for memory of the host, whichever device it was taken for.
    pub fn is_of_host(self) -> bool {
        matches!(self, Self::Pageable | Self::Pinned)
    }
}

/// Kind of a wait, by its object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SyncKind {
    /// All work of a device.
    Device,
    Stream,
    Event,
    /// A stream for an event, which does not hold up the host.
    StreamWait,
}

impl SyncKind {
    /// All variants, in order of their numbers.
    pub const ALL: [Self; 4] = [Self::Device, Self::Stream, Self::Event, Self::StreamWait];

    /// The value of `syncs.kind`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::Stream => "stream",
            Self::Event => "event",
            Self::StreamWait => "stream_wait",
        }
    }

    /// `CUpti_ActivitySynchronizationType`.
    pub fn from_cupti(number: i64) -> Option<Self> {
        Some(match number {
            1 => Self::Event,
            2 => Self::StreamWait,
            3 => Self::Stream,
            4 => Self::Device,
            _ => return None,
        })
    }

    /// `CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE`, `Stream Sync`.
    pub fn from_words(words: &str) -> Option<Self> {
        let words = words
            .strip_prefix("CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_")
            .unwrap_or(words);
        Some(match words {
            "EVENT_SYNCHRONIZE" | "Event Sync" => Self::Event,
            "STREAM_WAIT_EVENT" | "Stream Wait Event" => Self::StreamWait,
            "STREAM_SYNCHRONIZE" | "Stream Sync" => Self::Stream,
            "CONTEXT_SYNCHRONIZE" | "Context Sync" | "Device Sync" => Self::Device,
            _ => return None,
        })
    }

    /// True where an event is waited for.
    pub fn is_for_event(self) -> bool {
        matches!(self, Self::Event | Self::StreamWait)
    }

    /// True where the calling thread stops.
    pub fn holds_up_host(self) -> bool {
        self != Self::StreamWait
    }
}

/// The sign of a `CUpti_ActivityMemoryOperationType`: 1 for memory taken, -1 for memory given back.
pub(crate) fn memory_sign(number: i64) -> Option<i64> {
    match number {
        1 => Some(1),
        2 => Some(-1),
        _ => None,
    }
}

/// Sign of a change of memory, by Nsight Systems' number.
pub(crate) fn memory_sign_from_nsight(number: i64) -> Option<i64> {
    memory_sign(number.checked_add(1)?)
}

/// Sign of a change of memory, by Nsight Systems' words.
pub(crate) fn memory_sign_from_words(words: &str) -> Option<i64> {
    match words.strip_prefix("CUDA_DEV_MEM_EVENT_OPR_")? {
        "ALLOCATION" => Some(1),
        "DEALLOCATION" => Some(-1),
        _ => None,
    }
}

/// The value of `streams.kind` for a `CUpti_ActivityStreamFlag`, whose upper half belongs to per-thread default
/// streams.
pub(crate) fn stream_kind(flag: i64) -> Option<&'static str> {
    match flag & 0xffff {
        1 => Some("blocking"),
        2 => Some("non_blocking"),
        3 => Some("null"),
        _ => None,
    }
}

/// The name of a `CUpti_ExternalCorrelationKind`.
pub(crate) fn external_kind(number: u32) -> String {
    match number {
        1 => "unknown".to_owned(),
        2 => "OpenACC".to_owned(),
        3..=5 => format!("custom {}", number - 3),
        _ => format!("kind {number}"),
    }
}

/// The name of a `CUpti_ActivityOverheadKind`.
pub(crate) fn overhead_kind(number: u32) -> String {
    let known = match number {
        1 => "driver compiler",
        n if n & 0xffff == 0 => match n >> 16 {
            1 => "buffer flush",
            2 => "instrumentation",
            3 => "resource",
            4 => "module loading",
            5 => "lazy function loading",
            6 => "command buffer full",
            7 => "activity buffer request",
            8 => "unified memory initialisation",
            _ => return format!("kind {number}"),
        },
        _ => return format!("kind {number}"),
    };
    known.to_owned()
}

/// A number of an event, stream or pair; `None` for what CUPTI says where there is none.
pub(crate) fn number(number: u64) -> Option<u64> {
    let none = [0, u64::from(u32::MAX), u64::MAX];
    (!none.contains(&number)).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_words_of_all_tools_agree() {
        for (number, words) in [
            (
                1,
                [
                    "CUDA_MEMCPY_KIND_HTOD",
                    "Memcpy HtoD (Pageable -> Device)",
                    "CopyHostToDevice",
                ],
            ),
            (
                2,
                [
                    "CUDA_MEMCPY_KIND_DTOH",
                    "Memcpy DtoH (Device -> Pinned)",
                    "CopyDeviceToHost",
                ],
            ),
            (
                8,
                [
                    "CUDA_MEMCPY_KIND_DTOD",
                    "Memcpy DtoD (Device -> Device)",
                    "CUDA_MEMCPY_KIND_UVM_DTOD",
                ],
            ),
            (
                10,
                [
                    "CUDA_MEMCPY_KIND_PTOP",
                    "Memcpy PtoP (Device -> Device)",
                    "PeerToPeer",
                ],
            ),
        ] {
            for words in words {
                let direction = Direction::from_words(words);
                assert_eq!(direction, Direction::from_cupti(number), "{words}");
            }
        }
        assert_eq!(Direction::from_words("Memcpy Unknown"), None);
        for (number, words) in [
            (1, "Pageable"),
            (3, "DEVICE"),
            (6, "Device Static"),
            (7, "MANAGED_STATIC"),
        ] {
            assert_eq!(
                MemoryKind::from_words(words),
                MemoryKind::from_cupti(number),
                "{words}"
            );
            assert_eq!(
                MemoryKind::from_nsight(number - 1),
                MemoryKind::from_cupti(number)
            );
        }
        for (number, words) in [
            (1, "Event Sync"),
            (3, "STREAM_SYNCHRONIZE"),
            (4, "Device Sync"),
        ] {
            assert_eq!(
                SyncKind::from_words(words),
                SyncKind::from_cupti(number),
                "{words}"
            );
        }
        assert_eq!(stream_kind(0x1_0003), Some("null"));
        assert_eq!(overhead_kind(3 << 16), "resource");
        assert_eq!(overhead_kind(77), "kind 77");
    }
}
