//! One file in C, with the headers beside it.

use trueno_plugin::headers;

const SOURCE: &str = include_str!("plugin.c");

pub fn files(id: &str) -> Vec<(String, String)> {
    let mut files = vec![
        (format!("{id}.c"), SOURCE.replace("@ID@", id)),
        ("Makefile".to_owned(), makefile(id)),
        (".gitignore".to_owned(), "*.so\n*.dylib\n".to_owned()),
    ];
    let header = |(name, text): (&str, &str)| (name.to_owned(), text.to_owned());
    files.extend(headers::ALL.map(header));
    files
}

fn makefile(id: &str) -> String {
    let library = format!(
        "{}trueno_plugin_{id}{}",
        std::env::consts::DLL_PREFIX,
        std::env::consts::DLL_SUFFIX
    );
    format!(
        "CFLAGS ?= -O2 -Wall -Wextra\n\
         ANALYZE ?= trueno-analyze\n\
         \n\
         {library}: {id}.c trueno_table.h trueno_plugin.h arrow_c_abi.h\n\
         \t$(CC) -std=c11 $(CFLAGS) -shared -fPIC -o $@ $<\n\
         \n\
         check: {library}\n\
         \t$(ANALYZE) plugins check ./{library} $(RUN)\n\
         \n\
         clean:\n\
         \trm -f {library}\n\
         \n\
         .PHONY: check clean\n"
    )
}
