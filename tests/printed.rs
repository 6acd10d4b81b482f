//! Pages on paper: what a browser prints of them, as text and as a picture.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::harness::{Dir, ends};
use crate::html::{chromium, headless, installed, page_errors};

/// Colours of the device bar in print.
const COMPUTATION: [u8; 3] = [0x00, 0x72, 0xb2];
const COMMUNICATION: [u8; 3] = [0xd5, 0x5e, 0x00];
const COPY: [u8; 3] = [0xb0, 0x78, 0x00];

struct Tools {
    browser: PathBuf,
    to_text: PathBuf,
    to_picture: PathBuf,
}

impl Tools {
    fn find() -> Option<Tools> {
        let tools = chromium().and_then(|browser| {
            Some(Tools {
                browser,
                to_text: installed(&["pdftotext"])?,
                to_picture: installed(&["pdftoppm"])?,
            })
        });
        if tools.is_none() {
            eprintln!(
                "skipped: no Chromium, pdftotext and pdftoppm in PATH (.ci/chromium installs them)"
            );
        }
        tools
    }

    /// Prints a page to a PDF and returns its text without white space, so that line breaks in cells do not
    /// matter.
    fn print(&self, dir: &Dir, page: &str) -> String {
        let pdf = dir.join(page).with_extension("pdf");
        let log = dir.join("log");
        let mut child = headless(&self.browser, dir)
            .args(["--virtual-time-budget=60000", "--no-pdf-header-footer"])
            .arg(format!("--print-to-pdf={}", pdf.display()))
            .arg(format!("file://{}", dir.join(page).display()))
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(&log).expect("a file of the test"))
            .spawn()
            .expect("the browser starts");
        ends(&mut child, "the browser");
        let log = dir.read("log");
        let errors = page_errors(&log);
        assert!(errors.is_empty(), "the console shows errors: {errors:#?}");
        assert!(pdf.is_file(), "nothing was printed:\n{log}");
        let text = output(Command::new(&self.to_text).arg("-raw").arg(&pdf).arg("-"));
        let text = String::from_utf8(text).expect("text in UTF-8");
        text.split_whitespace().collect()
    }

    fn pictures(&self, dir: &Dir, page: &str) -> Vec<Picture> {
        let pdf = dir.join(page).with_extension("pdf");
        let folder = dir.folder("pictures");
        output(
            Command::new(&self.to_picture)
                .args(["-r", "96"])
                .arg(&pdf)
                .arg(folder.join("page")),
        );
        let entries = std::fs::read_dir(&folder).expect("the folder of pictures");
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        files.sort();
        let pictures = files.iter().map(|file| Picture::read(file)).collect();
        std::fs::remove_dir_all(&folder).expect("the folder of pictures goes");
        pictures
    }
}

fn output(command: &mut Command) -> Vec<u8> {
    let done = command.output().expect("the tool starts");
    assert!(
        done.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&done.stderr)
    );
    done.stdout
}

/// A page as pixels.
struct Picture {
    width: usize,
    pixels: Vec<[u8; 3]>,
}

impl Picture {
    /// Reads a file of `pdftoppm`: `P6`, width, height, 255, and three bytes per pixel.
    fn read(file: &Path) -> Picture {
        let bytes = std::fs::read(file).expect("a picture");
        let mut ends = bytes
            .iter()
            .enumerate()
            .filter(|(_, byte)| byte.is_ascii_whitespace());
        let end = ends.nth(3).expect("a header of four words").0;
        let header = String::from_utf8_lossy(&bytes[..end]);
        let words: Vec<&str> = header.split_whitespace().collect();
        assert_eq!((words[0], words[3]), ("P6", "255"), "{}", file.display());
        let pixels = bytes[end + 1..].chunks_exact(3);
        Picture {
            width: words[1].parse().expect("a width"),
            pixels: pixels.map(|rgb| [rgb[0], rgb[1], rgb[2]]).collect(),
        }
    }

    fn rows(&self) -> impl Iterator<Item = &[[u8; 3]]> {
        self.pixels.chunks_exact(self.width)
    }
}

fn is_near(pixel: &[u8; 3], colour: [u8; 3]) -> bool {
    (0..3).all(|at| pixel[at].abs_diff(colour[at]) < 24)
}

fn count(row: &[[u8; 3]], colour: [u8; 3]) -> usize {
    row.iter().filter(|pixel| is_near(pixel, colour)).count()
}

fn brightness(pixel: &[u8; 3]) -> f64 {
    0.299 * f64::from(pixel[0]) + 0.587 * f64::from(pixel[1]) + 0.114 * f64::from(pixel[2])
}

/// A device that computes, communicates, copies and idles, and a host thread with two levels of operators.
fn device_trace() -> Value {
    let mut events = Vec::new();
    for step in 0..20_u64 {
        let at = (step * 200) as f64;
        let mut event = |cat: &str, name: &str, ts: f64, dur: f64, args: Value| {
            events.push(json!({
                "ph": "X", "cat": cat, "name": name, "pid": 1, "tid": 1,
                "ts": at + ts, "dur": dur, "args": args,
            }));
        };
        let call = |n: u64| json!({"correlation": step * 4 + n});
        let work = |n: u64| json!({"correlation": step * 4 + n, "device": 0, "stream": 7});
        event("cpu_op", "aten::linear", 0.0, 100.0, json!({}));
        event("cpu_op", "aten::addmm", 5.0, 60.0, json!({}));
        event("cuda_runtime", "cudaLaunchKernel", 10.0, 5.0, call(1));
        event("cuda_runtime", "cudaLaunchKernel", 20.0, 5.0, call(2));
        event("cuda_runtime", "cudaMemcpyAsync", 30.0, 5.0, call(3));
        event("kernel", "sgemm<float, 128>", 40.0, 70.0, work(1));
        event(
            "kernel",
            "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
            110.0,
            40.0,
            work(2),
        );
        event(
            "gpu_memcpy",
            "Memcpy DtoH (Device -> Pageable)",
            150.0,
            30.0,
            work(3),
        );
    }
    json!({"schemaVersion": 1, "traceEvents": events})
}

fn device_page(dir: &Dir) -> String {
    std::fs::write(dir.join("trace.json"), device_trace().to_string()).unwrap();
    dir.command(&["import", "trace.json", "-o", "trace.run"])
        .exits(0);
    dir.report(&dir.join("trace.run"), &["--html", "page.html", "-q"])
        .exits(0);
    dir.read("page.html")
}

/// Visible texts of all elements with this tag.
fn texts(page: &str, tag: &str) -> Vec<String> {
    let (begin, end) = (format!("<{tag}"), format!("</{tag}>"));
    let mut found = Vec::new();
    for part in page.split(&begin).skip(1) {
        // `<th` also begins `<thead`.
        let Some(inner) = part.strip_prefix(['>', ' ']).and(part.split_once('>')) else {
            continue;
        };
        let text = inner.1.split_once(&end).map_or("", |(text, _)| text);
        let mut plain = String::new();
        for piece in text.split('<') {
            plain.push_str(piece.split_once('>').map_or(piece, |(_, after)| after));
        }
        let entities = [
            ("&lt;", "<"),
            ("&gt;", ">"),
            ("&quot;", "\""),
            ("&#39;", "'"),
        ];
        for (entity, character) in entities {
            plain = plain.replace(entity, character);
        }
        found.push(plain.replace("&amp;", "&"));
    }
    found
}

#[test]
fn a_printed_page_has_all_headings_cells_findings_and_the_timeline() {
    let Some(tools) = Tools::find() else { return };
    let dir = Dir::new();
    let page = device_page(&dir);
    let printed = tools.print(&dir, "page.html");
    // What is written before the scripts: folded tables and evidence too.
    let page = page.split("<script").next().unwrap();
    let mut missing = Vec::new();
    let mut looked_at = 0;
    for tag in [
        "th",
        "td",
        "h2",
        "h3",
        "figcaption",
        "summary",
        "dd",
        "pre",
        "b",
        "code",
    ] {
        for text in texts(page, tag) {
            let solid: String = text.split_whitespace().collect();
            looked_at += 1;
            if !printed.contains(&solid) {
                missing.push(format!("{tag}: {text}"));
            }
        }
    }
    assert!(missing.is_empty(), "not printed: {missing:#?}");
    assert!(
        looked_at > 200,
        "only {looked_at} texts of the page were found"
    );
    for part in ["gpu0/stream7", "aten::linear", "Memcpy", "From0.0ms"] {
        assert!(
            printed.contains(part),
            "the timeline lacks {part}: {printed}"
        );
    }
    for control in [
        "light/dark",
        "showonthetimeline",
        "showmore",
        "criticalpath(c)",
        "needsJavaScript",
        "leftitout",
    ] {
        assert!(!printed.contains(control), "{control} is printed");
    }
}

#[test]
fn a_printed_device_bar_has_its_colours_and_can_be_read_in_grey() {
    let Some(tools) = Tools::find() else { return };
    let dir = Dir::new();
    device_page(&dir);
    tools.print(&dir, "page.html");
    let pictures = tools.pictures(&dir, "page.html");
    let rows = pictures[0].rows();
    let bar = rows
        .filter(|row| count(row, COMMUNICATION) > 20 && count(row, COPY) > 10)
        .max_by_key(|row| count(row, COMPUTATION))
        .expect("a row of the picture with all colours of the device bar");
    assert!(count(bar, COMPUTATION) > 100, "no computation in the bar");
    // In grey the colours are alike: hatching tells them apart.
    let grey: Vec<bool> = bar.iter().map(|pixel| brightness(pixel) < 170.0).collect();
    let changes = grey.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!(
        changes > 20,
        "the bar changes {changes} times from dark to light"
    );
    let coloured = |pixel: &&[u8; 3]| {
        let (most, least) = (pixel.iter().max().unwrap(), pixel.iter().min().unwrap());
        most - least > 60
    };
    let timeline = pictures
        .iter()
        .map(|one| one.pixels.iter().filter(coloured).count());
    let timeline: usize = timeline.sum();
    assert!(timeline > 20_000, "{timeline} coloured pixels: no timeline");
}

#[test]
fn a_page_that_is_dark_on_the_screen_is_printed_light() {
    let Some(tools) = Tools::find() else { return };
    let dir = Dir::new();
    let page = device_page(&dir);
    let dark = page.replacen(
        "<html lang=\"en\">",
        "<html lang=\"en\" data-theme=\"dark\">",
        1,
    );
    assert_ne!(page, dark);
    std::fs::write(dir.join("dark.html"), dark).unwrap();
    tools.print(&dir, "page.html");
    let light = tools.pictures(&dir, "page.html");
    tools.print(&dir, "dark.html");
    let dark = tools.pictures(&dir, "dark.html");
    assert_eq!(light.len(), dark.len());
    for (page, (light, dark)) in light.iter().zip(&dark).enumerate() {
        let same = light.pixels.iter().zip(&dark.pixels);
        let differ = same.filter(|(one, other)| one != other).count();
        assert_eq!(differ, 0, "page {page} differs in {differ} pixels");
    }
}
