//! Protocol buffers, as far as they are written here.
//!
//! Messages are written by hand: the crates that hold Perfetto's schema run a protobuf compiler at build time, for
//! the few fields that are needed. A test reads the bytes back with a reader of its own.

#[derive(Clone, Debug, Default)]
pub(super) struct Message(Vec<u8>);

impl Message {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn fields(&mut self, fields: &Message) -> &mut Self {
        self.0.extend_from_slice(&fields.0);
        self
    }

    /// Begins a nested message of `bytes` bytes; the caller appends them.
    pub(super) fn message_of(&mut self, field: u32, bytes: usize) -> &mut Self {
        self.tag(field, 2);
        self.raw(bytes as u64);
        self
    }

    fn raw(&mut self, mut value: u64) {
        while value > 0x7f {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn tag(&mut self, field: u32, wire: u64) {
        self.raw(u64::from(field) << 3 | wire);
    }

    pub(super) fn number(&mut self, field: u32, value: u64) -> &mut Self {
        self.tag(field, 0);
        self.raw(value);
        self
    }

    /// Negative numbers take ten bytes: their two's complement.
    pub(super) fn signed(&mut self, field: u32, value: i64) -> &mut Self {
        self.number(field, value.cast_unsigned())
    }

    pub(super) fn fixed64(&mut self, field: u32, value: u64) -> &mut Self {
        self.tag(field, 1);
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    pub(super) fn double(&mut self, field: u32, value: f64) -> &mut Self {
        self.fixed64(field, value.to_bits())
    }

    pub(super) fn text(&mut self, field: u32, value: &str) -> &mut Self {
        self.block(field, value.as_bytes())
    }

    pub(super) fn message(&mut self, field: u32, value: &Message) -> &mut Self {
        self.block(field, &value.0)
    }

    fn block(&mut self, field: u32, bytes: &[u8]) -> &mut Self {
        self.message_of(field, bytes.len());
        self.0.extend_from_slice(bytes);
        self
    }
}
