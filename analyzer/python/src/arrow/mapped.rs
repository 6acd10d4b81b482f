//! Streams of Arrow IPC in files: their columns are the mapped pages themselves.

use std::os::fd::RawFd;
use std::ptr::NonNull;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_schema::SchemaRef;

/// Memory-mapped pages of a file.
struct Pages {
    at: NonNull<u8>,
    bytes: usize,
}

// SAFETY: read-only pages that belong to nobody else.
unsafe impl Send for Pages {}
// SAFETY: as above.
unsafe impl Sync for Pages {}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: mapped by `map` with this length, and no buffer is left that lies in them.
        unsafe { libc::munmap(self.at.as_ptr().cast(), self.bytes) };
    }
}

/// Reads the Arrow stream in a file, which must not be written any more.
///
/// # Errors
/// It cannot be mapped, or is no stream.
pub fn read(fd: RawFd) -> Result<(SchemaRef, Vec<RecordBatch>), String> {
    let mut left = map(fd)?;
    let mut decoder = StreamDecoder::new();
    let mut batches = Vec::new();
    while !left.is_empty() {
        let decoded = decoder.decode(&mut left);
        match decoded.map_err(|error| error.to_string())? {
            Some(batch) => batches.push(batch),
            None => break,
        }
    }
    decoder.finish().map_err(|error| error.to_string())?;
    let schema = decoder.schema();
    let schema = schema.ok_or("the stream holds no schema")?;
    Ok((schema, batches))
}

fn map(fd: RawFd) -> Result<Buffer, String> {
    let system = |what: &str| format!("{what}: {}", std::io::Error::last_os_error());
    // SAFETY: numbers, and a struct that lives for the call and may be all zeros.
    let bytes = unsafe {
        let mut stat = std::mem::zeroed::<libc::stat>();
        match libc::fstat(fd, &raw mut stat) {
            0 => usize::try_from(stat.st_size).unwrap_or(0),
            _ => return Err(system("the length of the file cannot be read")),
        }
    };
    if bytes == 0 {
        return Err("the file is empty".to_owned());
    }
    // SAFETY: a new mapping, which overlaps nothing.
    let at = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            bytes,
            libc::PROT_READ,
            libc::MAP_PRIVATE,
            fd,
            0,
        )
    };
    if at == libc::MAP_FAILED {
        return Err(system("the file cannot be mapped"));
    }
    let at = NonNull::new(at.cast::<u8>()).ok_or("the file cannot be mapped")?;
    let pages = Arc::new(Pages { at, bytes });
    // SAFETY: so many readable bytes lie there for as long as `pages` lives, which the buffer holds.
    Ok(unsafe { Buffer::from_custom_allocation(at, bytes, pages) })
}
