//! Enumerations of CUPTI, as runs name their values: from CUPTI's numbers, and from the words that Nsight Systems
//! and Kineto have for them.

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
    pub const ALL: [Self; 7] = [
        Self::HostToDevice,
        Self::DeviceToHost,
        Self::DeviceToDevice,
        Self::PeerToPeer,
        Self::HostToHost,
        Self::Fill,
        Self::Unknown,
    ];

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

    /// From a `CUpti_ActivityMemcpyKind`. Numbers from 11 on are Nsight Systems' own, for copies of unified
    /// memory.
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

    /// From words such as `CUDA_MEMCPY_KIND_HTOD`, `Memcpy HtoD (Pinned -> Device)`, `CUDA memcpy Host-to-Device`,
    /// `MEMORY_COPY_HOST_TO_DEVICE`, `CopyHostToDevice` or `MemcpyD2H`.
    pub fn from_words(words: &str) -> Option<Self> {
        let lower = words.to_ascii_lowercase();
        let words: Vec<&str> = lower.split(|c: char| !c.is_ascii_alphanumeric()).collect();
        let in_one = words.iter().find_map(|word| {
            let ends = match word.rfind("copy").or(word.rfind("cpy")) {
                Some(at) => word[at..]
                    .trim_start_matches("copy")
                    .trim_start_matches("cpy"),
                None => word,
            };
            Self::from_word(ends.strip_suffix("async").unwrap_or(ends))
        });
        in_one.or_else(|| {
            words
                .windows(3)
                .filter(|three| three.iter().all(|word| word.len() > 1))
                .find_map(|three| Self::from_word(&three.concat()))
        })
    }

    /// From `htod`, `h2d`, `hosttodevice` and their like.
    fn from_word(word: &str) -> Option<Self> {
        const ENDS: [(&str, char); 8] = [
            ("host", 'h'),
            ("device", 'd'),
            ("array", 'd'),
            ("peer", 'p'),
            ("h", 'h'),
            ("d", 'd'),
            ("a", 'd'),
            ("p", 'p'),
        ];
        let end = |word: &str| ENDS.iter().find(|(name, _)| *name == word);
        let split = ENDS.iter().find_map(|(name, from)| {
            let rest = word.strip_prefix(name)?;
            let to = rest.strip_prefix("to").or(rest.strip_prefix('2'))?;
            Some((*from, end(to)?.1))
        });
        Some(match split? {
            // All to all: a collective.
            _ if word == "a2a" => return None,
            ('h', 'd') => Self::HostToDevice,
            ('d', 'h') => Self::DeviceToHost,
            ('d', 'd') => Self::DeviceToDevice,
            ('h', 'h') => Self::HostToHost,
            ('p', 'p') => Self::PeerToPeer,
            _ => return None,
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemoryKind {
    Pageable,
    Pinned,
    Device,
    Array,
    Managed,
}

impl MemoryKind {
    pub const ALL: [Self; 5] = [
        Self::Pageable,
        Self::Pinned,
        Self::Device,
        Self::Array,
        Self::Managed,
    ];

    /// The value of `transfers.src_kind` and `dst_kind`, and of `allocations.tag` for unnamed memory.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pageable => "pageable",
            Self::Pinned => "pinned",
            Self::Device => "device",
            Self::Array => "array",
            Self::Managed => "managed",
        }
    }

    /// From a `CUpti_ActivityMemoryKind`.
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

    /// Nsight Systems numbers the kinds from 0.
    pub fn from_nsight(number: i64) -> Option<Self> {
        Self::from_cupti(number.checked_add(1)?)
    }

    /// From words such as `CUDA_MEMOPR_MEMORY_KIND_DEVICE_STATIC`, `Device Static` or `pinned`.
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

    /// Host memory, even if it was allocated for a device.
    pub fn is_of_host(self) -> bool {
        matches!(self, Self::Pageable | Self::Pinned)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SyncKind {
    Device,
    Stream,
    Event,
    /// A stream waits for an event; the host is not blocked.
    StreamWait,
}

impl SyncKind {
    pub const ALL: [Self; 4] = [Self::Device, Self::Stream, Self::Event, Self::StreamWait];

    pub fn name(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::Stream => "stream",
            Self::Event => "event",
            Self::StreamWait => "stream_wait",
        }
    }

    /// From a `CUpti_ActivitySynchronizationType`.
    pub fn from_cupti(number: i64) -> Option<Self> {
        Some(match number {
            1 => Self::Event,
            2 => Self::StreamWait,
            3 => Self::Stream,
            4 => Self::Device,
            _ => return None,
        })
    }

    /// From words such as `CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE`, `Stream Sync` or
    /// `synchronization(STREAM_SYNCHRONIZE)`.
    pub fn from_words(words: &str) -> Option<Self> {
        let within = words.strip_prefix("synchronization(");
        let words = within
            .and_then(|rest| rest.strip_suffix(')'))
            .unwrap_or(words);
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

    pub fn is_for_event(self) -> bool {
        matches!(self, Self::Event | Self::StreamWait)
    }

    /// True if the calling thread blocks.
    pub fn holds_up_host(self) -> bool {
        self != Self::StreamWait
    }
}

pub(crate) fn memory_sign(number: i64) -> Option<i64> {
    match number {
        1 => Some(1),
        2 => Some(-1),
        _ => None,
    }
}

pub(crate) fn memory_sign_from_nsight(number: i64) -> Option<i64> {
    memory_sign(number.checked_add(1)?)
}

pub(crate) fn memory_sign_from_words(words: &str) -> Option<i64> {
    match words.strip_prefix("CUDA_DEV_MEM_EVENT_OPR_")? {
        "ALLOCATION" => Some(1),
        "DEALLOCATION" => Some(-1),
        _ => None,
    }
}

/// The value of `streams.kind` for a `CUpti_ActivityStreamFlag`. The upper half of the flag is for per-thread
/// default streams.
pub(crate) fn stream_kind(flag: i64) -> Option<&'static str> {
    match flag & 0xffff {
        1 => Some("blocking"),
        2 => Some("non_blocking"),
        3 => Some("null"),
        _ => None,
    }
}

pub(crate) fn external_kind(number: u32) -> String {
    match number {
        1 => "unknown".to_owned(),
        2 => "OpenACC".to_owned(),
        3..=5 => format!("custom {}", number - 3),
        _ => format!("kind {number}"),
    }
}

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

/// A number of an event, stream or pair; `None` for CUPTI's invalid values.
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
        for (words, direction) in [
            ("CUDA memcpy Host-to-Device", "h2d"),
            ("[CUDA memcpy Device-to-Array]", "d2d"),
            ("[CUDA memcpy Array-to-Host]", "d2h"),
            ("CUDA memcpy Peer-to-Peer", "p2p"),
            ("CUDA memcpy Host-to-Host", "h2h"),
            ("CUDA Unified Memory memcpy DtoH", "d2h"),
            ("MEMCPYHtoD", "h2d"),
            ("MEMCPYDtoH", "d2h"),
            ("MEMCPYDtoD", "d2d"),
            ("MEMORY_COPY_DEVICE_TO_HOST", "d2h"),
            ("MemcpyD2H", "d2h"),
            ("CUDA_MEMCPY_KIND_ATOH", "d2h"),
            ("h2d", "h2d"),
        ] {
            let found = Direction::from_words(words).map(Direction::name);
            assert_eq!(found, Some(direction), "{words}");
        }
        for words in [
            "Memcpy Unknown",
            "a2a",
            "copy",
            "host to",
            "Memcpy (Host -> Device)",
            "",
        ] {
            assert_eq!(Direction::from_words(words), None, "{words}");
        }
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
