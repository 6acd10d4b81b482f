//! Takes hold of CUPTI, in the order that its documentation and other tools' scars ask for.

use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_void};
use std::ptr;
use std::sync::atomic::Ordering;

use trueno_cupti::driver::Driver;
use trueno_cupti::kind;
use trueno_cupti::library::{
    Cupti, Places, Refused, Rejection, SubscriberParams, candidates, first_usable, record_sizes,
};
use trueno_cupti::spool::{CuptiFacts, Severity};
use trueno_cupti::walk::Sizes;

use crate::callbacks::{self, STATES, domain, resource};
use crate::graphs::INSTANTIATE;
use crate::session::{Session, current_or_new, lock};
use crate::settings::Level;
use crate::{entry, flusher, shutdown, threads};

const KERNELS: &[u32] = &[
    kind::DEVICE,
    kind::CONTEXT,
    kind::STREAM,
    kind::CONCURRENT_KERNEL,
    kind::MEMCPY,
    kind::MEMCPY_PEER,
    kind::MEMSET,
    kind::RUNTIME,
    kind::OVERHEAD,
];
/// Kinds that a critical path needs in addition.
const EDGES: &[u32] = &[
    kind::DRIVER,
    kind::SYNCHRONIZATION,
    kind::CUDA_EVENT,
    kind::EXTERNAL_CORRELATION,
    kind::INTERNAL_LAUNCH_API,
    kind::JIT,
    kind::GRAPH_HOST_NODE,
    kind::HOST_LAUNCH,
];
const FULL: &[u32] = &[kind::MEMORY, kind::MEMORY_POOL];
/// Kinds that CUPTI refuses (`CUPTI_ERROR_NOT_COMPATIBLE`) until `cuInit` has returned. They are enabled at the first context.
const WITH_DEVICE: &[u32] = &[kind::ENVIRONMENT];
/// Kinds for whole graphs, if the user asks for them. CUPTI then records no nodes.
const WHOLE_GRAPHS: &[u32] = &[kind::GRAPH_TRACE];
/// Kinds with records for calls that this library itself makes when it closes.
const CALLS: &[u32] = &[
    kind::RUNTIME,
    kind::DRIVER,
    kind::SYNCHRONIZATION,
    kind::INTERNAL_LAUNCH_API,
];

/// Functions that programs call constantly and that carry no information.
const MUTED: &[&str] = &[
    "cudaGetDevice",
    "cudaGetLastError",
    "cudaPeekAtLastError",
    "cuCtxGetCurrent",
    "cuKernelGetAttribute",
    "cuDevicePrimaryCtxGetState",
];
/// Name prefixes of driver functions that start device work.
const LAUNCHES: &[&str] = &["cuLaunch", "cuGraphLaunch", "cuMemcpy", "cuMemset"];
/// Functions after which records of a device are gone.
const ENDINGS: &[&str] = &[
    "cudaDeviceReset",
    "cuProfilerStop",
    "cuCtxDestroy_v2",
    "cuDevicePrimaryCtxRelease_v2",
    "cuDevicePrimaryCtxReset_v2",
];
/// More than the number of functions in any version.
const MAX_FUNCTIONS: u32 = 1_200;
/// The driver's code if another tool has subscribed.
const HELD: i32 = 39;

/// Starts recording everything that CUPTI provides. Returns whether it succeeded.
pub fn start() -> bool {
    let Some(session) = current_or_new() else {
        return false;
    };
    if session.cupti.get().is_some() {
        return true;
    }
    match record(session) {
        Ok(()) => true,
        Err(problem) => {
            session.note(Severity::Error, "no_cupti", &problem);
            entry::say(&format!(
                "no CUDA work of process {} is recorded: {problem}",
                session.pid
            ));
            false
        }
    }
}

fn record(session: &'static Session) -> Result<(), String> {
    let mut facts = CuptiFacts::default();
    let (cupti, subscriber) = find(&mut facts)?;
    let sizes = record_sizes(&cupti).unwrap_or_else(|refused| {
        facts
            .refused
            .insert("record sizes".to_owned(), refused.to_string());
        Sizes::default()
    });
    facts.record_bytes = sizes
        .iter()
        .map(|(number, bytes)| (kind::name(number), bytes))
        .collect();
    let functions = functions(&cupti);
    let level = session.settings.level;
    let with_graphs = level >= Level::Edges && !session.settings.whole_graphs;
    if with_graphs {
        let calls = instantiations(&functions);
        if calls.is_empty() {
            let why = "CUPTI names no function that instantiates graphs";
            facts
                .refused
                .insert("edges of graphs".to_owned(), why.to_owned());
        }
        let _ = session.instantiations.set(calls);
        // SAFETY: no node is what it is to refuse; valid for the write.
        let asked = unsafe { cupti.get_graph_node_id(ptr::null_mut(), &mut 0) };
        if let Err(refused @ Refused::Missing(_)) = asked {
            refuse(&mut facts, "edges of graphs", &refused);
        }
    }
    ask_for_callbacks(&cupti, subscriber, &functions, with_graphs, &mut facts);
    // SAFETY (of this and the following calls): numbers, and functions that live as long as the process.
    match unsafe { cupti.set_thread_id_type(1) } {
        Ok(()) => facts.system_threads = true,
        Err(refused) => refuse(&mut facts, "numbers of threads", &refused),
    }
    if level == Level::Full
        // SAFETY: as above.
        && let Err(refused) = unsafe { cupti.enable_latency_timestamps(1) }
    {
        refuse(&mut facts, "stages of launches", &refused);
    }
    // SAFETY: as above.
    let registered = unsafe {
        cupti.register_callbacks(callbacks::buffer_requested, callbacks::buffer_completed)
    };
    registered.map_err(|refused| refused.to_string())?;
    let mut no_event_times = None;
    if level >= Level::Edges {
        // SAFETY: as above.
        no_event_times = unsafe { cupti.enable_event_timestamps(1) }.err();
        // A query of an event that is not over is no wait. Versions before 13.1 record none.
        // SAFETY: as above.
        let _ = unsafe { cupti.enable_all_sync_records(0) };
    }
    // Before the first buffer can come.
    let _ = session.sizes.set(sizes.clone());
    let _ = session.cupti.set(cupti);
    for number in kinds(level, session.settings.whole_graphs) {
        enable(&cupti, number, &sizes, &mut facts);
    }
    if level >= Level::Edges && sizes.get(kind::HOST_LAUNCH).is_none() {
        let text = "functions of the host that streams and graphs call are not recorded: this CUPTI has no records of them";
        session.note(Severity::Info, "not_recorded", text);
    }
    // Without records of events there is nothing that could have a time.
    let has_events = facts.enabled.contains(&kind::name(kind::CUDA_EVENT));
    if let Some(refused) = no_event_times.filter(|_| has_events) {
        refuse(&mut facts, "times of events", &refused);
    }
    if level == Level::Kernels {
        enable_launches(&cupti, &sizes, &mut facts);
    }
    if facts.enabled.is_empty() {
        let why = facts.refused.values().next().cloned().unwrap_or_default();
        return Err(format!("CUPTI refuses every kind of record: {why}"));
    }
    mute(&cupti, &functions, &mut facts);
    facts.driver_version = Driver::loaded().and_then(Driver::version);
    lock(&session.facts).cupti = Some(facts);
    session.write_facts();
    shutdown::before_destructors();
    threads::spawn("trueno-flush", move || flusher::run(session))
        .map_err(|error| format!("cannot start a thread: {error}"))
}

fn kinds(level: Level, whole_graphs: bool) -> impl Iterator<Item = u32> {
    let edges = if level >= Level::Edges { EDGES } else { &[] };
    let full = if level >= Level::Full { FULL } else { &[] };
    let graphs = if whole_graphs { WHOLE_GRAPHS } else { &[] };
    KERNELS
        .iter()
        .chain(edges)
        .chain(full)
        .chain(graphs)
        .copied()
}

fn find(facts: &mut CuptiFacts) -> Result<(Cupti, *mut c_void), String> {
    let mut subscriber = ptr::null_mut();
    let search = first_usable(candidates(&Places::here()), |usable| {
        subscriber = subscribe(&usable.cupti)?;
        Ok(())
    });
    facts.passed_over = search.passed_over;
    if let Some(why) = search.stopped {
        return Err(why);
    }
    let Some(found) = search.found else {
        let tried = facts.passed_over.join("; ");
        return Err(format!(
            "libcupti cannot be used (hint: give its path with --cupti): {tried}"
        ));
    };
    facts.version = found.version;
    facts.path = found.path;
    Ok((found.cupti, subscriber))
}

fn subscribe(cupti: &Cupti) -> Result<*mut c_void, Rejection> {
    let mut subscriber = ptr::null_mut();
    let mut holder = [0u8; 256];
    let mut params = SubscriberParams {
        struct_size: size_of::<SubscriberParams>(),
        subscriber_name: c"trueno-record".as_ptr(),
        old_subscriber_name: holder.as_mut_ptr().cast::<c_char>(),
        old_subscriber_size: holder.len(),
    };
    // SAFETY: all pointers are valid for the call; the callback lives as long as the process.
    let first = unsafe {
        cupti.subscribe_v2(
            &mut subscriber,
            callbacks::happened,
            ptr::null_mut(),
            &mut params,
        )
    };
    let done = match first {
        Err(Refused::Missing(_)) => {
            // SAFETY: as above.
            unsafe { cupti.subscribe(&mut subscriber, callbacks::happened, ptr::null_mut()) }
        }
        other => other,
    };
    let Err(refused) = done else {
        return Ok(subscriber);
    };
    if refused.code() != Some(HELD) {
        return Err(Rejection::PassOver(refused.to_string()));
    }
    let name = CStr::from_bytes_until_nul(&holder)
        .unwrap_or_default()
        .to_string_lossy();
    let who = if name.is_empty() {
        "another tool".into()
    } else {
        name
    };
    Err(Rejection::Stop(format!(
        "{who} already uses CUPTI in this process, and only one tool can (hint: run without nsys, ncu, a debugger or torch.profiler)"
    )))
}

/// Functions with callbacks, by name: domain and number.
fn functions(cupti: &Cupti) -> BTreeMap<&'static str, Vec<(u32, u32)>> {
    let mut found: BTreeMap<&'static str, Vec<(u32, u32)>> = BTreeMap::new();
    for in_domain in [domain::DRIVER, domain::RUNTIME] {
        for number in 1..MAX_FUNCTIONS {
            let Some(name) = cupti.callback_name(in_domain, number) else {
                continue;
            };
            let is_it = |wanted: &&&str| name == **wanted || plain(&name) == **wanted;
            let all = MUTED.iter().chain(ENDINGS).chain(INSTANTIATE);
            if let Some(wanted) = all.into_iter().find(is_it) {
                found.entry(wanted).or_default().push((in_domain, number));
            }
        }
    }
    found
}

fn instantiations(functions: &BTreeMap<&'static str, Vec<(u32, u32)>>) -> Vec<u32> {
    let found = INSTANTIATE.iter().filter_map(|name| functions.get(name));
    let of_driver = found.flatten().filter(|(of, _)| *of == domain::DRIVER);
    of_driver.map(|(_, number)| *number).collect()
}

/// `cudaGetDevice` for `cudaGetDevice_v3020` and for its variants with per-thread streams.
fn plain(name: &str) -> &str {
    let name = name.trim_end_matches("_ptsz");
    match name.rsplit_once("_v") {
        Some((plain, version))
            if version.len() >= 4 && version.bytes().all(|b| b.is_ascii_digit()) =>
        {
            plain
        }
        _ => name,
    }
}

fn ask_for_callbacks(
    cupti: &Cupti,
    subscriber: *mut c_void,
    functions: &BTreeMap<&'static str, Vec<(u32, u32)>>,
    with_graphs: bool,
    facts: &mut CuptiFacts,
) {
    let endings = ENDINGS.iter().filter_map(|name| functions.get(name));
    let graphs = with_graphs.then(|| {
        let calls = instantiations(functions).into_iter();
        let calls = calls.map(|number| (domain::DRIVER, number));
        calls.chain([(domain::RESOURCE, resource::GRAPHNODE_CLONED)])
    });
    let asked = STATES
        .into_iter()
        .map(|state| (domain::STATE, state))
        .chain([
            (domain::RESOURCE, resource::CONTEXT_CREATED),
            (domain::RESOURCE, resource::CONTEXT_DESTROY_STARTING),
        ])
        .chain(endings.flatten().copied())
        .chain(graphs.into_iter().flatten());
    for (in_domain, number) in asked {
        // SAFETY: numbers, and the handle that CUPTI gave.
        if let Err(refused) = unsafe { cupti.enable_callback(1, subscriber, in_domain, number) } {
            refuse(facts, &format!("callback {in_domain}/{number}"), &refused);
        }
    }
}

fn enable(cupti: &Cupti, number: u32, sizes: &Sizes, facts: &mut CuptiFacts) {
    let name = kind::name(number);
    let least = kind::from_number(number).map_or(0, |kind| kind.least_bytes);
    if is_later(number) && sizes.get(number).is_none() {
        return;
    }
    if let Some(bytes) = sizes.get(number).filter(|bytes| *bytes < least) {
        let why = format!("its records have {bytes} bytes, expected {least} or more");
        facts.refused.insert(name, why);
        return;
    }
    // SAFETY: takes a number.
    match unsafe { cupti.activity_enable(number) } {
        Ok(()) => facts.enabled.push(name),
        Err(refused) => refuse(facts, &name, &refused),
    }
}

/// True for kinds that were added after the versions whose records are known here.
fn is_later(number: u32) -> bool {
    kind::LATER_KINDS.iter().any(|kind| kind.number == number)
}

/// Records the driver's calls that launch, copy and fill: libraries use them in addition to those of the runtime.
fn enable_launches(cupti: &Cupti, sizes: &Sizes, facts: &mut CuptiFacts) {
    let launches = (1..MAX_FUNCTIONS).filter(|number| {
        let name = cupti.callback_name(domain::DRIVER, *number);
        name.is_some_and(|name| LAUNCHES.iter().any(|prefix| name.starts_with(prefix)))
    });
    let mut any = false;
    for number in launches {
        // SAFETY: takes numbers.
        any |= unsafe { cupti.enable_driver_api(number, 1) }.is_ok();
    }
    if any {
        facts.enabled.push("launches of the driver".to_owned());
    } else {
        // Before 12.5 no single function can be recorded.
        enable(cupti, kind::DRIVER, sizes, facts);
    }
}

fn mute(
    cupti: &Cupti,
    functions: &BTreeMap<&'static str, Vec<(u32, u32)>>,
    facts: &mut CuptiFacts,
) {
    for name in MUTED {
        let mut muted = false;
        for (in_domain, number) in functions.get(name).into_iter().flatten() {
            // SAFETY: takes numbers.
            let done = unsafe {
                match *in_domain {
                    domain::DRIVER => cupti.enable_driver_api(*number, 0),
                    _ => cupti.enable_runtime_api(*number, 0),
                }
            };
            muted |= done.is_ok();
        }
        if muted {
            facts.muted.push((*name).to_owned());
        }
    }
}

fn refuse(facts: &mut CuptiFacts, what: &str, refused: &Refused) {
    facts.refused.insert(what.to_owned(), refused.to_string());
}

/// Enables what needs a device. Returns false if CUPTI refuses some of it: the context may still be in the making.
pub fn start_with_device(session: &Session) -> bool {
    let Some(cupti) = session.cupti.get() else {
        return true;
    };
    if session.settings.level < Level::Full || session.stopped.load(Ordering::Acquire) {
        return true;
    }
    let sizes = session.sizes.get().cloned().unwrap_or_default();
    // Not held while CUPTI is called.
    let Some(mut facts) = lock(&session.facts).cupti.clone() else {
        return true;
    };
    let before = facts.clone();
    for number in WITH_DEVICE {
        let name = kind::name(*number);
        if !facts.enabled.contains(&name) {
            facts.refused.remove(&name);
            enable(cupti, *number, &sizes, &mut facts);
        }
    }
    let is_refused = |number: &u32| facts.refused.contains_key(&kind::name(*number));
    let is_complete = !WITH_DEVICE.iter().any(is_refused);
    if facts != before {
        lock(&session.facts).cupti = Some(facts);
        session.write_facts();
    }
    is_complete
}

/// Stops recording calls, because those that follow are this library's own. With `keep_driver`, calls of the driver
/// are still recorded, so that they can be seen and left out.
pub fn stop_calls(session: &Session, keep_driver: bool) {
    let kinds = CALLS.iter().copied();
    let kinds: Vec<u32> = kinds
        .filter(|number| !keep_driver || *number != kind::DRIVER)
        .collect();
    disable(session, &kinds);
}

pub fn stop_all(session: &Session) {
    for kinds in [KERNELS, EDGES, FULL, WITH_DEVICE, WHOLE_GRAPHS] {
        disable(session, kinds);
    }
}

fn disable(session: &Session, kinds: &[u32]) {
    if let Some(cupti) = session.cupti.get() {
        for number in kinds {
            // SAFETY: takes a number.
            let _ = unsafe { cupti.activity_disable(*number) };
        }
    }
}
