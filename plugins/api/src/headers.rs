//! The C headers, for whoever sets up a plugin in C.

/// Name and text of each header; they include each other by these names.
pub const ALL: [(&str, &str); 3] = [
    ("arrow_c_abi.h", include_str!("../include/arrow_c_abi.h")),
    (
        "trueno_plugin.h",
        include_str!("../include/trueno_plugin.h"),
    ),
    ("trueno_table.h", include_str!("../include/trueno_table.h")),
];
