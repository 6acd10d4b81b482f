//! Edges between nodes of CUDA graphs.
//!
//! Records of a replay carry the number of a node of the instantiated graph, a clone of one that the program made;
//! CUPTI tells of each clone when it is made. Which node waits for which the driver says of the program's graph
//! (`cuGraphGetEdges`), asked when the program's own call to instantiate it returns: no lock of the driver is held then.

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::Mutex;

use trueno_cupti::driver::Driver;
use trueno_cupti::library::Cupti;
use trueno_cupti::spool::{Chunk, Severity};

use crate::session::{Session, lock};

/// Driver functions that instantiate a graph. All take the destination first and the graph second.
pub const INSTANTIATE: &[&str] = &[
    "cuGraphInstantiate",
    "cuGraphInstantiate_v2",
    "cuGraphInstantiateWithFlags",
    "cuGraphInstantiateWithParams",
];
/// `CUPTI_API_EXIT`.
const EXIT: u32 = 1;

/// Edges that wait to be written: pairs of node numbers, as bytes.
#[derive(Debug, Default)]
pub struct Graphs {
    clones: Mutex<Vec<u8>>,
    edges: Mutex<Vec<u8>>,
}

/// `CUpti_ResourceData`.
#[repr(C)]
struct Resource {
    context: *mut c_void,
    stream: *mut c_void,
    descriptor: *const Graph,
}

/// Those fields of `CUpti_GraphData` that are read.
#[repr(C)]
struct Graph {
    graph: *mut c_void,
    original_graph: *mut c_void,
    node: *mut c_void,
    original_node: *mut c_void,
}

/// Those fields of `CUpti_CallbackData` that are read.
#[repr(C)]
struct Call {
    site: u32,
    name: *const std::ffi::c_char,
    arguments: *const Instantiate,
    returned: *const c_int,
}

/// The first arguments of each function of [`INSTANTIATE`].
#[repr(C)]
struct Instantiate {
    into: *mut c_void,
    graph: *mut c_void,
}

/// `CUgraphEdgeData`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct EdgeData {
    from_port: u8,
    to_port: u8,
    /// 0 is the plain kind: the later node begins when the earlier one has ended.
    kind: u8,
    reserved: [u8; 5],
}

type Nodes = *mut *mut c_void;
type GetEdges = unsafe extern "C" fn(*mut c_void, Nodes, Nodes, *mut usize) -> c_int;
type GetEdgesAndData =
    unsafe extern "C" fn(*mut c_void, Nodes, Nodes, *mut EdgeData, *mut usize) -> c_int;

/// A node was cloned.
///
/// # Safety
/// `what` is null or CUPTI's data of this event.
pub unsafe fn cloned(session: &Session, what: *const c_void) {
    // SAFETY: the caller promised it; CUPTI's data holds while its callback runs.
    let graph = unsafe {
        let resource = what.cast::<Resource>().as_ref();
        resource.and_then(|resource| resource.descriptor.as_ref())
    };
    let (Some(graph), Some(cupti)) = (graph, session.cupti.get()) else {
        return;
    };
    let number = |node| number(cupti, node);
    if let (Some(clone), Some(original)) = (number(graph.node), number(graph.original_node)) {
        push(&session.graphs.clones, clone, original);
    }
}

/// A graph is about to be instantiated, or has been.
///
/// # Safety
/// `what` is null or CUPTI's data of a call of [`INSTANTIATE`].
pub unsafe fn instantiated(session: &Session, what: *const c_void) {
    // SAFETY: the caller promised it; CUPTI's data holds while its callback runs. The returned value is there at the
    // exit only, and is not looked at before.
    let graph = unsafe {
        let Some(call) = what
            .cast::<Call>()
            .as_ref()
            .filter(|call| call.site == EXIT)
        else {
            return;
        };
        let went_well = call.returned.as_ref().is_some_and(|code| *code == 0);
        call.arguments
            .as_ref()
            .filter(|_| went_well)
            .map(|arguments| arguments.graph)
    };
    let (Some(graph), Some(cupti)) = (graph.filter(|graph| !graph.is_null()), session.cupti.get())
    else {
        return;
    };
    // SAFETY: a graph that the program has just used.
    match unsafe { edges(graph) } {
        Ok(edges) => {
            for (from, to) in edges {
                if let (Some(from), Some(to)) = (number(cupti, from), number(cupti, to)) {
                    push(&session.graphs.edges, from, to);
                }
            }
        }
        Err(problem) => {
            let text = format!("what the nodes of a graph wait for is not recorded: {problem}");
            session.note(Severity::Warning, "graph_edges", &text);
        }
    }
}

/// Plain edges: from, to. Others do not say that all of the earlier node has to end.
///
/// # Safety
/// The graph must be one.
unsafe fn edges(graph: *mut c_void) -> Result<Vec<(*mut c_void, *mut c_void)>, String> {
    let driver = Driver::loaded().ok_or("the driver is gone")?;
    let plain: Option<GetEdges> = driver
        .function(c"cuGraphGetEdges")
        .ok()
        // SAFETY: the driver's API has this function of this type.
        .map(|address| unsafe { std::mem::transmute::<*mut c_void, GetEdges>(address.as_ptr()) });
    let with_data: Option<GetEdgesAndData> =
        // SAFETY: as above.
        driver.function(c"cuGraphGetEdges_v2").ok().map(|address| unsafe {
            std::mem::transmute::<*mut c_void, GetEdgesAndData>(address.as_ptr())
        });
    let ask = |from: Nodes, to: Nodes, data: *mut EdgeData, count: &mut usize| {
        // SAFETY: a graph, as the caller promised; null, or room for as many as `count` says.
        let code = match (with_data, plain) {
            (Some(ask), _) => unsafe { ask(graph, from, to, data, count) },
            (None, Some(ask)) => unsafe { ask(graph, from, to, count) },
            (None, None) => return Err("the driver has no cuGraphGetEdges".to_owned()),
        };
        let done = driver.done("cuGraphGetEdges", code);
        done.map_err(|error| error.to_string())
    };
    let mut count = 0;
    ask(null_mut(), null_mut(), null_mut(), &mut count)?;
    let (mut from, mut to) = (vec![null_mut(); count], vec![null_mut(); count]);
    let mut data = vec![EdgeData::default(); count];
    if count > 0 {
        let room = count;
        ask(
            from.as_mut_ptr(),
            to.as_mut_ptr(),
            data.as_mut_ptr(),
            &mut count,
        )?;
        count = count.min(room);
    }
    let all = from.into_iter().zip(to).zip(data).take(count);
    Ok(all
        .filter(|(_, data)| data.kind == 0)
        .map(|(edge, _)| edge)
        .collect())
}

fn number(cupti: &Cupti, node: *mut c_void) -> Option<u64> {
    let mut number = 0;
    // SAFETY: a node that CUPTI or the driver has just named; valid for the write.
    unsafe { cupti.get_graph_node_id(node, &mut number) }.ok()?;
    Some(number)
}

fn push(to: &Mutex<Vec<u8>>, first: u64, second: u64) {
    let mut bytes = lock(to);
    bytes.extend_from_slice(&first.to_le_bytes());
    bytes.extend_from_slice(&second.to_le_bytes());
}

pub fn write(session: &Session) {
    let graphs = &session.graphs;
    for (waiting, chunk) in [
        (&graphs.clones, Chunk::GraphClones),
        (&graphs.edges, Chunk::GraphEdges),
    ] {
        let bytes = std::mem::take(&mut *lock(waiting));
        if !bytes.is_empty() {
            session.write(chunk, &[&bytes]);
        }
    }
}
