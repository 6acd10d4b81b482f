//! The driver's functions.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::Arc;

use trueno_cupti::driver::{Api, attribute};

use super::super::interpreter::Module;
use super::{Work, state};

pub fn api() -> Api {
    Api {
        init,
        device_count,
        device,
        device_name,
        device_uuid,
        device_attribute,
        retain,
        release,
        push,
        pop,
        load,
        unload,
        function,
        launch,
        allocate,
        free,
        memory,
        allocate_host,
        free_host,
        to_host,
        to_device,
        stream,
        stream_destroy,
        event,
        event_record,
        event_query,
        event_wait,
        event_elapsed,
        event_destroy,
        error_text,
        part_uuid: Some(part_uuid),
    }
}

// SAFETY of all below: called by the code under test with what the driver's API says, valid for what they write.

unsafe extern "C" fn init(_: c_uint) -> c_int {
    0
}

unsafe extern "C" fn device_count(count: *mut c_int) -> c_int {
    unsafe { *count = 1 };
    0
}

unsafe extern "C" fn device(device: *mut c_int, ordinal: c_int) -> c_int {
    unsafe { *device = ordinal };
    0
}

unsafe extern "C" fn device_name(name: *mut c_char, room: c_int, _: c_int) -> c_int {
    let text = c"Fake H100".to_bytes_with_nul();
    assert!(room as usize >= text.len());
    unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), name.cast(), text.len()) };
    0
}

unsafe extern "C" fn device_uuid(uuid: *mut [u8; 16], _: c_int) -> c_int {
    unsafe { *uuid = std::array::from_fn(|at| at as u8) };
    0
}

unsafe extern "C" fn part_uuid(uuid: *mut [u8; 16], _: c_int) -> c_int {
    let first = if state().is_part { 0x40 } else { 0 };
    unsafe { *uuid = std::array::from_fn(|at| first + at as u8) };
    0
}

unsafe extern "C" fn device_attribute(value: *mut c_int, which: c_int, _: c_int) -> c_int {
    let found = match which {
        attribute::MULTIPROCESSORS => 2,
        attribute::L2_BYTES => 1 << 20,
        attribute::MAJOR => state().capability as c_int / 10,
        attribute::MINOR => state().capability as c_int % 10,
        attribute::CLOCK_KHZ => 1_980_000,
        _ => return 1,
    };
    unsafe { *value = found };
    0
}

unsafe extern "C" fn retain(context: *mut *mut c_void, _: c_int) -> c_int {
    state().contexts += 1;
    unsafe { *context = 0x11 as *mut c_void };
    0
}

unsafe extern "C" fn release(_: c_int) -> c_int {
    state().contexts -= 1;
    0
}

unsafe extern "C" fn push(context: *mut c_void) -> c_int {
    assert_eq!(context as usize, 0x11);
    0
}

unsafe extern "C" fn pop(context: *mut *mut c_void) -> c_int {
    unsafe { *context = std::ptr::null_mut() };
    0
}

unsafe extern "C" fn load(module: *mut *mut c_void, image: *const c_void) -> c_int {
    let text = unsafe { CStr::from_ptr(image.cast()) }.to_str().unwrap();
    // Those with tensor cores are not executed, and only their names matter.
    let mut state = state();
    let text = state
        .replaced
        .map_or_else(|| text.to_owned(), |(from, to)| text.replace(from, to));
    state.modules.push(Arc::new(Module::parse_known(&text)));
    unsafe { *module = state.modules.len() as *mut c_void };
    0
}

unsafe extern "C" fn unload(_: *mut c_void) -> c_int {
    0
}

unsafe extern "C" fn function(
    function: *mut *mut c_void,
    module: *mut c_void,
    name: *const c_char,
) -> c_int {
    let name = unsafe { CStr::from_ptr(name) }.to_str().unwrap();
    let mut state = state();
    let module = module as usize - 1;
    if !state.modules[module].has(name) {
        return 500;
    }
    state.functions.push((module, name.to_owned()));
    unsafe { *function = state.functions.len() as *mut c_void };
    0
}

#[allow(clippy::too_many_arguments, reason = "as the driver has it")]
unsafe extern "C" fn launch(
    function: *mut c_void,
    blocks: c_uint,
    _: c_uint,
    _: c_uint,
    threads: c_uint,
    _: c_uint,
    _: c_uint,
    _: c_uint,
    _: *mut c_void,
    arguments: *mut *mut c_void,
    _: *mut *mut c_void,
) -> c_int {
    let mut state = state();
    if state.launch_error != 0 {
        return state.launch_error;
    }
    let function = function as usize - 1;
    let (module, name) = &state.functions[function];
    let sizes = state.modules[*module].parameter_sizes(name);
    // Copied before it returns, as the driver does.
    let arguments = sizes
        .iter()
        .enumerate()
        .map(|(nth, size)| unsafe {
            std::slice::from_raw_parts((*arguments.add(nth)).cast::<u8>(), *size).to_vec()
        })
        .collect();
    state.queue.push_back(Work::Launch {
        function,
        shape: (blocks, threads),
        arguments,
    });
    0
}

unsafe extern "C" fn allocate(address: *mut u64, bytes: usize) -> c_int {
    let mut state = state();
    state.allocated += 1;
    unsafe { *address = state.memory.reserve(bytes) };
    0
}

unsafe extern "C" fn free(_: u64) -> c_int {
    let mut state = state();
    state.run();
    state.allocated -= 1;
    0
}

unsafe extern "C" fn memory(free: *mut usize, all: *mut usize) -> c_int {
    unsafe { (*free, *all) = (64 << 20, 80 << 20) };
    0
}

unsafe extern "C" fn allocate_host(address: *mut *mut c_void, bytes: usize, _: c_uint) -> c_int {
    state().allocated += 1;
    // Never freed: a copy that comes too late must not write into something else.
    unsafe {
        *address = Vec::<u64>::leak(vec![0; bytes.div_ceil(8)])
            .as_mut_ptr()
            .cast()
    };
    0
}

unsafe extern "C" fn free_host(_: *mut c_void) -> c_int {
    let mut state = state();
    let waiting = |work: &Work| matches!(work, Work::Copy { .. });
    assert!(
        !state.queue.iter().any(waiting),
        "a copy into it is under way"
    );
    state.allocated -= 1;
    0
}

unsafe extern "C" fn to_host(to: *mut c_void, from: u64, bytes: usize, _: *mut c_void) -> c_int {
    let to = to as usize;
    state().queue.push_back(Work::Copy { to, from, bytes });
    0
}

unsafe extern "C" fn to_device(to: u64, from: *const c_void, bytes: usize) -> c_int {
    let data = unsafe { std::slice::from_raw_parts(from.cast::<u8>(), bytes) };
    state().memory.write(to, data);
    0
}

unsafe extern "C" fn stream(stream: *mut *mut c_void, _: c_uint) -> c_int {
    unsafe { *stream = 0x22 as *mut c_void };
    0
}

unsafe extern "C" fn stream_destroy(_: *mut c_void) -> c_int {
    0
}

unsafe extern "C" fn event(event: *mut *mut c_void, _: c_uint) -> c_int {
    let mut state = state();
    // An event that was never recorded counts as reached.
    state.events.push(Some(0.0));
    unsafe { *event = state.events.len() as *mut c_void };
    0
}

unsafe extern "C" fn event_record(event: *mut c_void, _: *mut c_void) -> c_int {
    let (mut state, event) = (state(), event as usize - 1);
    state.events[event] = None;
    state.queue.push_back(Work::Record(event));
    0
}

unsafe extern "C" fn event_query(event: *mut c_void) -> c_int {
    match state().events[event as usize - 1] {
        Some(_) => 0,
        None => 600,
    }
}

unsafe extern "C" fn event_wait(_: *mut c_void) -> c_int {
    state().run();
    0
}

unsafe extern "C" fn event_elapsed(
    milliseconds: *mut f32,
    from: *mut c_void,
    to: *mut c_void,
) -> c_int {
    let state = state();
    let at = |event: *mut c_void| state.events[event as usize - 1];
    let Some((from, to)) = at(from).zip(at(to)) else {
        return 600;
    };
    unsafe { *milliseconds = ((to - from) * 1e3) as f32 };
    0
}

unsafe extern "C" fn event_destroy(_: *mut c_void) -> c_int {
    0
}

unsafe extern "C" fn error_text(code: c_int, text: *mut *const c_char) -> c_int {
    if code != 700 {
        return 1;
    }
    unsafe { *text = c"an illegal memory access was encountered".as_ptr() };
    0
}
