//! Pages about analyses, as in `docs/analyses`.

macro_rules! pages {
    ($($id:ident)*) => {
        /// Id and page of each.
        pub(crate) static PAGES: &[(&str, &str)] = &[$((
            stringify!($id),
            include_str!(concat!("../analyses/", stringify!($id), ".md")),
        )),*];
    };
}

pages! {
    bottleneck
    category
    causality
    collectives
    counters
    critical_path
    device
    divergence
    lateness
    memory
    modules
    operators
    roofline
    samples
    sanity
    stragglers
    summary
    syscalls
    throughput
    tiles
}

pub(crate) fn ids() -> Vec<&'static str> {
    PAGES.iter().map(|(id, _)| *id).collect()
}

pub(crate) fn page(id: &str) -> Option<&'static str> {
    let page = PAGES.iter().find(|(known, _)| *known == id);
    page.map(|(_, text)| *text)
}

pub(crate) fn opening(page: &str) -> String {
    let text = page
        .lines()
        .skip(1)
        .skip_while(|line| line.trim().is_empty());
    let paragraph: Vec<&str> = text.take_while(|line| !line.trim().is_empty()).collect();
    let paragraph = paragraph.join(" ");
    let end = paragraph.find(". ").map_or(paragraph.len(), |at| at + 1);
    paragraph[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_page_of_the_docs_is_one_here() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/analyses");
        let files = std::fs::read_dir(folder).unwrap();
        let names = files.map(|file| {
            file.unwrap()
                .path()
                .file_stem()
                .unwrap()
                .to_string_lossy()
                .into_owned()
        });
        let names: BTreeSet<String> = names.collect();
        assert_eq!(names, ids().into_iter().map(str::to_owned).collect());
    }

    #[test]
    fn a_page_opens_with_what_it_is_about() {
        let opening = opening(page("throughput").unwrap());
        assert_eq!(
            opening,
            "Iterations: warm-up, steady state, outliers and their cause, rates."
        );
    }
}
