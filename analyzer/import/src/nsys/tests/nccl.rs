//! Collectives from payloads of NCCL, as bytes and as JSON.

use std::fmt::Write as _;

use super::fixture::Export;
use crate::read_back::Imported;

const ALL_REDUCE: u64 = (1 << 24) + 5;
const SEND_RECV: u64 = (1 << 24) + 9;
const INIT: u64 = 1 << 24;
const SIZED: u64 = (1 << 24) + 4;

const TABLES: &str = "
CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, textId INTEGER,
    globalTid INTEGER, endGlobalTid INTEGER, jsonText TEXT, binaryData TEXT);
CREATE TABLE NVTX_PAYLOAD_SCHEMA_ENTRIES (domainId INTEGER NOT NULL, schemaId INTEGER NOT NULL, idx INTEGER NOT NULL,
    flags INTEGER, type INTEGER, name TEXT, description TEXT, arrayOrUnionDetail INTEGER, offset INTEGER);
INSERT INTO NVTX_PAYLOAD_SCHEMA_ENTRIES VALUES
    (1, 16777216, 0, NULL, 18, 'NCCL communicator ID', NULL, NULL, NULL),
    (1, 16777216, 1, NULL, 5, 'No. of ranks', NULL, NULL, 8),
    (1, 16777216, 2, NULL, 5, 'Rank', NULL, NULL, 12),
    (1, 16777216, 3, NULL, 5, 'CUDA device', NULL, NULL, 16),
    (1, 16777220, 0, NULL, 18, 'NCCL communicator ID', NULL, NULL, NULL),
    (1, 16777220, 1, NULL, 22, 'Message size [bytes]', NULL, NULL, 8),
    (1, 16777221, 0, NULL, 18, 'NCCL communicator ID', NULL, NULL, NULL),
    (1, 16777221, 1, NULL, 22, 'Message size [bytes]', NULL, NULL, 8),
    (1, 16777221, 2, NULL, 16777240, 'Reduction operation', NULL, NULL, 16),
    (1, 16777225, 0, NULL, 18, 'NCCL communicator ID', NULL, NULL, NULL),
    (1, 16777225, 1, NULL, 22, 'Message size [bytes]', NULL, NULL, 8),
    (1, 16777225, 2, NULL, 5, 'Peer rank', NULL, NULL, 16);
-- The same again: another process registered them, too.
INSERT INTO NVTX_PAYLOAD_SCHEMA_ENTRIES SELECT * FROM NVTX_PAYLOAD_SCHEMA_ENTRIES;
CREATE TABLE NVTX_PAYLOAD_ENUM_ENTRIES (domainId INTEGER, schemaId INTEGER, idx INTEGER, name TEXT, value INTEGER,
    isFlag INTEGER);
INSERT INTO NVTX_PAYLOAD_ENUM_ENTRIES VALUES (1, 16777240, 0, 'Sum', 0, NULL), (1, 16777240, 1, 'Product', 1, NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER,
    nameId INTEGER, returnValue INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
    streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER);
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel'), (2, 'ncclDevKernel_AllReduce_Sum_f32_RING_LL');
";

struct Ranges {
    sql: String,
    at_ns: u64,
}

impl Ranges {
    fn new() -> Self {
        Self {
            sql: TABLES.to_owned(),
            at_ns: 100,
        }
    }

    fn row(&mut self, name: &str, json: &str, data: &str) -> &mut Self {
        let (start, end) = (self.at_ns, self.at_ns + 90);
        writeln!(
            self.sql,
            "INSERT INTO NVTX_EVENTS VALUES ({start}, {end}, 59, '{name}', NULL, 83886085, NULL, {json}, {data});"
        )
        .unwrap();
        self.at_ns += 100;
        self
    }

    fn plain(&mut self, name: &str) -> &mut Self {
        self.row(name, "NULL", "NULL")
    }

    /// A range with a payload: values with their sizes in bytes.
    fn with(&mut self, name: &str, schema: u64, values: &[(u64, usize)]) -> &mut Self {
        let mut payload: Vec<u8> = Vec::new();
        for (value, bytes) in values {
            payload.extend_from_slice(&value.to_le_bytes()[..*bytes]);
        }
        payload.resize(payload.len().next_multiple_of(8), 0);
        let header = [1, schema, payload.len() as u64, 32 + payload.len() as u64];
        let mut hex = String::new();
        for byte in header
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .chain(payload)
        {
            write!(hex, "{byte:02x}").unwrap();
        }
        self.row(name, "NULL", &format!("x'{hex}'"))
    }

    fn import(&self) -> Imported {
        Export::new(&self.sql).import().unwrap()
    }
}

fn collectives(run: &Imported) -> Vec<String> {
    let columns = "span operation communicator element_type elements_in elements_out group_size time_ns dur_ns";
    run.rows("collectives", columns)
}

#[test]
fn a_call_is_a_collective_and_its_payload_attributes() {
    let run = Ranges::new()
        .with(
            "ncclCommInitRankConfig",
            INIT,
            &[(0xabc, 8), (4, 4), (1, 4), (1, 4)],
        )
        .with(
            "ncclAllReduce",
            ALL_REDUCE,
            &[(0xabc, 8), (4096, 8), (0, 4)],
        )
        .with("ncclAllGather", SIZED, &[(0xabc, 8), (64, 8)])
        .with(
            "ncclReduceScatter",
            ALL_REDUCE,
            &[(0xdef, 8), (64, 8), (1, 4)],
        )
        .import();
    assert_eq!(
        collectives(&run),
        [
            "2 all_reduce 0x0000000000000abc byte 4096 4096 4 100 90",
            "3 all_gather 0x0000000000000abc byte 64 256 4 200 90",
            // Nothing says how many ranks this one has.
            "4 reduce_scatter 0x0000000000000def byte - 64 - 300 90",
        ]
    );
    let said = run.rows("attributes", "span name integer text");
    assert!(
        said.contains(&"2 Message size [bytes] 4096 -".to_owned()),
        "{said:?}"
    );
    assert!(
        said.contains(&"2 Reduction operation - Sum".to_owned()),
        "{said:?}"
    );
    assert!(said.contains(&"1 Rank 1 -".to_owned()), "{said:?}");
}

/// PyTorch queues even a single call in a group.
#[test]
fn a_group_is_launched_where_it_ends() {
    let mut ranges = Ranges::new();
    ranges
        .plain("ncclGroupStart")
        .plain("ncclGroupStart")
        .with("ncclAllReduce", ALL_REDUCE, &[(7, 8), (400, 8), (0, 4)])
        .plain("ncclGroupEnd")
        .with("ncclAllReduce", ALL_REDUCE, &[(7, 8), (600, 8), (0, 4)])
        .plain("ncclGroupEnd");
    ranges.sql.push_str(
        "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (610, 620, 83886085, 9, 1, 0);
         INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (700, 900, 0, 1, 13, 9, 83886080, 2);",
    );
    let run = ranges.import();
    assert_eq!(
        collectives(&run),
        ["6 all_reduce 0x0000000000000007 byte 1000 1000 - 0 590"]
    );
    assert_eq!(run.rows("kernels", "brick"), ["6"]);
}

#[test]
fn a_send_to_each_and_a_receive_from_each_are_an_all_to_all() {
    let pair = |peer: u64, bytes: u64| [(7, 8), (bytes, 8), (peer, 4)];
    let run = Ranges::new()
        .plain("ncclGroupStart")
        .with("ncclSend", SEND_RECV, &pair(0, 10))
        .with("ncclRecv", SEND_RECV, &pair(0, 30))
        .with("ncclSend", SEND_RECV, &pair(1, 20))
        .with("ncclRecv", SEND_RECV, &pair(1, 40))
        .plain("ncclGroupEnd")
        // A stage of a pipeline: whom it sends to is a number in the communicator.
        .plain("ncclGroupStart")
        .with("ncclSend", SEND_RECV, &pair(1, 20))
        .with("ncclRecv", SEND_RECV, &pair(1, 20))
        .plain("ncclGroupEnd")
        .import();
    assert_eq!(
        collectives(&run),
        ["6 all_to_all 0x0000000000000007 byte 30 70 - 0 590"]
    );
    let pairs = "NCCL: sends and receives, whose peers are numbers in a communicator";
    assert_eq!(run.notes.left_out.get(pairs), Some(&1));
}

#[test]
fn calls_that_are_not_one_collective_are_none() {
    let run = Ranges::new()
        .plain("ncclGroupStart")
        .with("ncclAllReduce", ALL_REDUCE, &[(7, 8), (400, 8), (0, 4)])
        .with("ncclAllGather", SIZED, &[(7, 8), (400, 8)])
        .plain("ncclGroupEnd")
        // One process, two ranks of a communicator.
        .with("ncclCommInitRank", INIT, &[(9, 8), (2, 4), (0, 4), (0, 4)])
        .with("ncclCommInitRank", INIT, &[(9, 8), (2, 4), (1, 4), (1, 4)])
        .with("ncclAllReduce", ALL_REDUCE, &[(9, 8), (400, 8), (0, 4)])
        .import();
    assert_eq!(collectives(&run), [""; 0]);
    let left_out = run.notes.left_out;
    assert_eq!(
        left_out.get("NCCL: groups of several collectives"),
        Some(&1)
    );
    let several = "NCCL: calls of a process that is several ranks of one communicator";
    assert_eq!(left_out.get(several), Some(&1));
}

#[test]
fn payloads_may_be_json() {
    let json = r#"'{"NCCL communicator ID": "0x00000000000000ff", "Message size [bytes]": 512}'"#;
    let run = Ranges::new().row("ncclBroadcast", json, "NULL").import();
    assert_eq!(
        collectives(&run),
        ["1 broadcast 0x00000000000000ff byte 512 512 - 0 90"]
    );
}

#[test]
fn damaged_payloads_are_counted() {
    let mut ranges = Ranges::new();
    ranges
        .row("ncclAllReduce", "NULL", "x'0100'")
        .with("ncclAllReduce", 77, &[(7, 8)])
        .with("ncclAllReduce", ALL_REDUCE, &[(7, 8)]);
    let run = ranges.import();
    assert_eq!(collectives(&run), [""; 0]);
    assert_eq!(run.rows("bricks", "id").len(), 3);
    let notes = run.notes;
    let lengths = "NVTX: payloads of a length that is not the stated one";
    assert_eq!(notes.left_out.get(lengths), Some(&1));
    let layouts = "NVTX: payloads whose layout the export does not list";
    assert_eq!(notes.left_out.get(layouts), Some(&1));
    // A payload that ends before its last members.
    assert_eq!(
        notes.arguments_left_out.get("Message size [bytes]"),
        Some(&1)
    );
    // Two processes that mean different things by one number: neither is believed.
    ranges
        .sql
        .push_str("UPDATE NVTX_PAYLOAD_SCHEMA_ENTRIES SET offset = 4 WHERE rowid = 7;");
    let other = "NVTX: payloads that processes laid out differently";
    assert_eq!(ranges.import().notes.left_out.get(other), Some(&1));
}
