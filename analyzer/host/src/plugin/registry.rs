//! Registry of plugins: those loaded, and the status of all that were found.

use std::path::{Path, PathBuf};

use super::descriptor::{Execution, Plugin};
use super::find::{FindError, PATH_VARIABLE, Place, Search, find, is_python};
use super::isolate::{self, Limits};
use super::linked::{Code, Linked};
use super::load::{LoadError, load, load_linked};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    Ok,
    /// Another library with its id has priority.
    Shadowed {
        by: PathBuf,
    },
    Refused {
        why: String,
    },
}

#[derive(Clone, Debug)]
pub struct Entry {
    /// From the file name or the descriptor, if known.
    pub id: Option<String>,
    pub file: PathBuf,
    pub status: Status,
}

#[derive(Clone, Debug, Default)]
pub struct Registry {
    /// Sorted by id.
    pub plugins: Vec<Plugin>,
    /// Everything found, by id and then in search order.
    pub entries: Vec<Entry>,
    pub places: Vec<Place>,
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    #[error(transparent)]
    Find(#[from] FindError),
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(
        "--plugin-file {} and --plugin-file {} both provide the plugin {id} (hint: give one of them)",
        .first.display(), .second.display()
    )]
    Twice {
        id: String,
        first: PathBuf,
        second: PathBuf,
    },
}

impl Registry {
    /// Finds and loads plugins. A bad library in a folder is skipped with a reason. One named by
    /// `--plugin-file` is an error, since the user asked for it.
    ///
    /// # Errors
    /// See [`RegistryError`].
    pub fn gather(search: &Search) -> Result<Registry, RegistryError> {
        let found = find(search)?;
        let mut registry = Registry {
            places: found.places,
            ..Registry::default()
        };
        for candidate in found.candidates {
            let loaded = if search.isolates(&candidate.file) || is_python(&candidate.file) {
                load_isolated(Code::in_library(&candidate.file), &search.isolation.limits)
            } else if search.ships(&candidate.file) {
                load(&candidate.file)
            } else {
                load_foreign(&candidate.file)
            };
            match loaded {
                Ok(plugin) => registry.add(plugin, candidate.explicit)?,
                Err(error) if candidate.explicit => return Err(error.into()),
                Err(error) => {
                    let status = Status::Refused {
                        why: error.to_string(),
                    };
                    registry.entries.push(Entry {
                        id: candidate.id,
                        file: candidate.file,
                        status,
                    });
                }
            }
        }
        for shadowed in found.shadowed {
            let status = Status::Shadowed { by: shadowed.by };
            registry.entries.push(Entry {
                id: Some(shadowed.id),
                file: shadowed.file,
                status,
            });
        }
        for refused in found.refused {
            let status = Status::Refused { why: refused.why };
            registry.entries.push(Entry {
                id: Some(refused.id),
                file: refused.file,
                status,
            });
        }
        if let Some(program) = &search.executable {
            for linked in search.linked {
                registry.add_linked(linked, program, search)?;
            }
        }
        registry
            .plugins
            .sort_by(|a, b| a.descriptor.id.cmp(&b.descriptor.id));
        registry.entries.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(registry)
    }

    /// Adds a linked plugin, unless a library has its id. The library next to the program is the same plugin
    /// and is not listed as shadowed.
    fn add_linked(
        &mut self,
        linked: &Linked,
        program: &Path,
        search: &Search,
    ) -> Result<(), RegistryError> {
        let same = |entry: &&Entry| entry.id.as_deref() == Some(linked.id);
        let mut entries = self.entries.iter().filter(same);
        let Some(first) = entries.clone().find(|entry| !is_shadowed(entry)) else {
            let loaded = if search.isolates(program) {
                load_isolated(
                    Code::in_program(program, linked.id),
                    &search.isolation.limits,
                )
            } else {
                load_linked(program, linked)
            };
            return self.add(loaded?, false);
        };
        let ships = |entry: &Entry| {
            let real = std::fs::canonicalize(&entry.file);
            real.is_ok_and(|file| search.ships(&file))
        };
        if !entries.any(ships) {
            let by = first.file.clone();
            self.entries.push(Entry {
                id: Some(linked.id.to_owned()),
                file: program.to_path_buf(),
                status: Status::Shadowed { by },
            });
        }
        Ok(())
    }

    /// Adds a plugin. A library named by `--plugin-file` may have any file name, so only its descriptor shows
    /// which library of a folder it replaces.
    fn add(&mut self, plugin: Plugin, explicit: bool) -> Result<(), RegistryError> {
        let id = plugin.descriptor.id.clone();
        let file = plugin.code.file.clone();
        let earlier = self
            .plugins
            .iter()
            .find(|other| other.descriptor.id == id)
            .map(|other| other.code.file.clone());
        let status = match earlier {
            Some(first) if first == file => return Ok(()),
            Some(first) if explicit => {
                return Err(RegistryError::Twice {
                    id,
                    first,
                    second: file,
                });
            }
            Some(by) => Status::Shadowed { by },
            None => {
                self.plugins.push(plugin);
                Status::Ok
            }
        };
        self.entries.push(Entry {
            id: Some(id),
            file,
            status,
        });
        Ok(())
    }

    pub fn get(&self, id: &str) -> Option<&Plugin> {
        self.plugins
            .iter()
            .find(|plugin| plugin.descriptor.id == id)
    }

    /// Error text if there is no plugin at all: the searched places, and how to get plugins.
    pub fn nothing_found(&self) -> String {
        let mut text = String::from("no plugins found");
        for entry in &self.entries {
            if let Status::Refused { why } = &entry.status {
                text.push_str(&format!("\n  refused: {why}"));
            }
        }
        if self.places.is_empty() {
            text.push_str(
                "\n  searched no folders (--no-default-plugins disables all except those you name)",
            );
        }
        for place in &self.places {
            let state = place.why_not.as_deref().unwrap_or("no plugin in it");
            text.push_str(&format!("\n  searched {}: {state}", place.dir.display()));
        }
        text.push_str(&format!(
            "\n  (hint: build them with `cargo build --workspace`, or name their place with --plugin-dir or {PATH_VARIABLE})"
        ));
        text
    }
}

fn is_shadowed(entry: &Entry) -> bool {
    matches!(entry.status, Status::Shadowed { .. })
}

fn load_foreign(file: &Path) -> Result<Plugin, LoadError> {
    #[cfg(target_os = "linux")]
    let _output = super::foreign_output::ForeignOutput::begin();
    let mut plugin = load(file)?;
    if let Execution::InProcess(functions) = &mut plugin.execution {
        functions.is_foreign = true;
    }
    Ok(plugin)
}

/// Like [`load`], but the library is loaded only in a process of its own.
fn load_isolated(code: Code, limits: &Limits) -> Result<Plugin, LoadError> {
    let descriptor = isolate::describe(&code, limits).map_err(LoadError::Isolated)?;
    // Asked in that process already; but what comes from there is the library's.
    if let Err(reason) = descriptor.check(&code.file) {
        let file = code.file;
        return Err(LoadError::Descriptor { file, reason });
    }
    Ok(Plugin {
        descriptor,
        code,
        execution: Execution::Isolated(limits.clone()),
    })
}
