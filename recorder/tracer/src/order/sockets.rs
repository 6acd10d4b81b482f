//! Who is at the other end of a socket.

use std::fs::File;
use std::io::Read;

use libc::pid_t;

/// Longer lists of connections are not read, because that would delay the program.
const MAX_LIST_BYTES: u64 = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ends {
    /// The other socket of the pair.
    Pair(u64),
    /// A connection within this machine, from this end to the other.
    Tcp(Connection),
    /// Unknown, or none.
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Connection {
    from: Address,
    to: Address,
}

/// Address in IPv6 form, and port.
type Address = (u128, u16);

impl Connection {
    pub fn reversed(self) -> Self {
        Self {
            from: self.to,
            to: self.from,
        }
    }

    fn is_local(&self) -> bool {
        let (from, to) = (self.from.0, self.to.0);
        let version_4 = |address: u128| (address >> 32 == 0xffff).then_some(address as u32);
        let is_loopback = match version_4(to) {
            Some(address) => address >> 24 == 127,
            None => to == 1,
        };
        self.to.1 != 0 && (is_loopback || from == to)
    }
}

pub(crate) fn ends(process: pid_t, socket: u64) -> Ends {
    let lists = ["tcp", "tcp6"].map(|list| format!("/proc/{process}/net/{list}"));
    let found = lists.iter().find_map(|list| {
        let mut text = String::new();
        let file = File::open(list).ok()?;
        file.take(MAX_LIST_BYTES).read_to_string(&mut text).ok()?;
        text.lines()
            .skip(1)
            .find_map(|line| connection(line, socket))
    });
    match found {
        Some(connection) if connection.is_local() => Ends::Tcp(connection),
        _ => Ends::Unknown,
    }
}

fn connection(line: &str, socket: u64) -> Option<Connection> {
    let mut words = line.split_ascii_whitespace();
    let (from, to) = (words.nth(1)?, words.next()?);
    let number: u64 = words.nth(6)?.parse().ok()?;
    if number != socket {
        return None;
    }
    Some(Connection {
        from: address(from)?,
        to: address(to)?,
    })
}

/// Parses an address: 32-bit words, each with its bytes in network order stored in this machine's order.
fn address(text: &str) -> Option<Address> {
    let (address, port) = text.split_once(':')?;
    let words = address.as_bytes().chunks(8).map(|word| {
        let word = std::str::from_utf8(word).ok()?;
        u32::from_str_radix(word, 16).ok().map(u32::from_be)
    });
    let words: Vec<u32> = words.collect::<Option<_>>()?;
    let address = match words[..] {
        [word] => 0xffff_0000_0000 | u128::from(word),
        [_, _, _, _] => words
            .iter()
            .fold(0, |all, word| all << 32 | u128::from(*word)),
        _ => return None,
    };
    Some((address, u16::from_str_radix(port, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_read_from_the_list_of_the_system() {
        let of_4 = "   1: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0";
        let found = connection(of_4, 4711).unwrap();
        assert_eq!(found.from, (0xffff_7f00_0001, 8080));
        assert_eq!(found.to, (0xffff_7f00_0001, 50000));
        assert!(found.is_local());
        assert_eq!(connection(of_4, 4712), None);
        let mapped = "   0: 0000000000000000FFFF00000100007F:C350 0000000000000000FFFF00000100007F:1F90 01 0:0 0:0 0 0 0 9 1 0";
        assert_eq!(connection(mapped, 9), Some(found.reversed()));
        let away = "   1: 0100000A:1F90 0200000A:C350 01 00000000:00000000 00:00000000 00000000  1000        0 5 1 0";
        assert!(!connection(away, 5).unwrap().is_local());
    }
}
