//! Files of the page, in the program.

pub(crate) const PAGE: &str = include_str!("../assets/page.html");
pub(crate) const STYLE: &str = include_str!("../assets/page.css");
/// Scripts in loading order.
const SCRIPTS: [&str; 8] = [
    include_str!("../assets/show.js"),
    include_str!("../assets/view.js"),
    include_str!("../assets/curves.js"),
    include_str!("../assets/lanes.js"),
    include_str!("../assets/detail.js"),
    include_str!("../assets/query.js"),
    include_str!("../assets/frames.js"),
    include_str!("../assets/page.js"),
];

pub(crate) fn script() -> String {
    SCRIPTS.join("\n")
}
