//! Buffers of a compressed batch: a length of 8 bytes, then a frame of LZ4, or the bytes as they are.

const MAGIC: [u8; 4] = [0x04, 0x22, 0x4d, 0x18];
/// Instead of a length: the bytes are stored uncompressed.
const STORED: i64 = -1;
/// Bit of a block's length: the block is stored uncompressed.
const BLOCK_STORED: u32 = 1 << 31;

struct Flags(u8);

impl Flags {
    fn has_block_checksums(&self) -> bool {
        self.0 & 0x10 != 0
    }

    /// Bytes of the header after magic, flags and block size: content size, dictionary id, checksum.
    fn bytes_behind(&self) -> usize {
        let size = if self.0 & 0x08 != 0 { 8 } else { 0 };
        let dictionary = if self.0 & 0x01 != 0 { 4 } else { 0 };
        size + dictionary + 1
    }
}

pub(super) fn unpack(packed: &[u8], is_compressed: bool, to: &mut Vec<u8>) -> Result<(), String> {
    to.clear();
    if !is_compressed || packed.is_empty() {
        to.extend_from_slice(packed);
        return Ok(());
    }
    let (length, frame) = packed
        .split_first_chunk::<8>()
        .ok_or("a compressed buffer without its length")?;
    let length = i64::from_le_bytes(*length);
    if length == STORED {
        to.extend_from_slice(frame);
        return Ok(());
    }
    let length = usize::try_from(length).map_err(|_| "a negative length")?;
    to.resize(length, 0);
    let mut at = 0;
    for block in Blocks::of(frame)? {
        let (block, is_stored) = block?;
        let (before, room) = to.split_at_mut(at);
        at += if is_stored {
            room.get_mut(..block.len())
                .ok_or("a block longer than its buffer")?
                .copy_from_slice(block);
            block.len()
        } else {
            // A block may refer to what stands before it, or be independent: both are read the same way.
            lz4_flex::block::decompress_into_with_dict(block, room, before)
                .map_err(|error| error.to_string())?
        };
    }
    if at == length {
        Ok(())
    } else {
        Err(format!("a buffer of {at} bytes that claims to be {length}"))
    }
}

/// The blocks of a frame, and whether each is stored uncompressed.
struct Blocks<'a> {
    rest: &'a [u8],
    checksum_bytes: usize,
    is_over: bool,
}

impl<'a> Blocks<'a> {
    fn of(frame: &'a [u8]) -> Result<Self, String> {
        let head = frame.strip_prefix(&MAGIC).and_then(<[u8]>::split_first);
        let (&flags, rest) = head.ok_or("a buffer that is not an LZ4 frame")?;
        let flags = Flags(flags);
        let rest = rest.get(1 + flags.bytes_behind()..);
        Ok(Self {
            rest: rest.ok_or("a frame that is cut short")?,
            checksum_bytes: if flags.has_block_checksums() { 4 } else { 0 },
            is_over: false,
        })
    }

    fn block(&mut self) -> Option<Option<(&'a [u8], bool)>> {
        let (length, rest) = self.rest.split_first_chunk::<4>()?;
        let length = u32::from_le_bytes(*length);
        if length == 0 {
            return Some(None);
        }
        let bytes = (length & !BLOCK_STORED) as usize;
        let (block, rest) = rest.split_at_checked(bytes)?;
        self.rest = rest.get(self.checksum_bytes..)?;
        Some(Some((block, length & BLOCK_STORED != 0)))
    }
}

impl<'a> Iterator for Blocks<'a> {
    type Item = Result<(&'a [u8], bool), String>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        match self.block() {
            Some(Some(block)) => Some(Ok(block)),
            Some(None) => {
                self.is_over = true;
                None
            }
            None => {
                self.is_over = true;
                Some(Err("a frame that is cut short".to_owned()))
            }
        }
    }
}

/// The value that a buffer repeats, if it is compressed as the recorder does for one: the value, a match with the
/// preceding value, and the last literals. Most columns of most batches have one value. `width` is in bytes.
pub(super) fn same_value(packed: &[u8], width: usize, bytes: usize) -> Option<u64> {
    const LAST: usize = 5;
    let (length, frame) = packed.split_first_chunk::<8>()?;
    if usize::try_from(i64::from_le_bytes(*length)).ok()? != bytes {
        return None;
    }
    let mut blocks = Blocks::of(frame).ok()?;
    let (block, false) = blocks.next()?.ok()? else {
        return None;
    };
    if blocks.next().is_some() {
        return None;
    }
    let (&token, rest) = block.split_first()?;
    if usize::from(token >> 4) != width {
        return None;
    }
    let (value, rest) = rest.split_at_checked(width)?;
    let (offset, mut rest) = rest.split_first_chunk::<2>()?;
    let mut matched = usize::from(token & 15) + 4;
    if token & 15 == 15 {
        loop {
            let (&more, behind) = rest.split_first()?;
            rest = behind;
            matched += usize::from(more);
            if more < 255 {
                break;
            }
        }
    }
    let (&last, literals) = rest.split_first()?;
    let is_repeated = usize::from(u16::from_le_bytes(*offset)) == width
        && usize::from(last) == LAST << 4
        && width + matched + LAST == bytes
        && literals.len() == LAST
        && literals
            .iter()
            .enumerate()
            .all(|(at, byte)| *byte == value[(width + matched + at) % width]);
    let mut whole = [0; 8];
    whole.get_mut(..width)?.copy_from_slice(value);
    is_repeated.then(|| u64::from_le_bytes(whole))
}
