//! The columns from which a node's details are made.

use std::collections::HashMap;

use trueno_analysis::hash::FastMap;
use trueno_engine::query::{Database, RowBatch};

use super::columns::{Names, NumberedNames, Place, Rows, TableColumns};
use super::{Class, Detail, GraphError, Launch, NONE};

#[derive(Default)]
pub(super) struct NumberedDetails {
    pub(super) details: Vec<Detail>,
    numbers: HashMap<Detail, u32>,
}

impl NumberedDetails {
    fn number(&mut self, detail: Detail) -> u32 {
        if let Some(&number) = self.numbers.get(&detail) {
            return number;
        }
        let number = self.details.len() as u32;
        self.details.push(detail.clone());
        self.numbers.insert(detail, number);
        number
    }
}

pub(super) struct Details {
    launch: Option<LaunchColumns>,
    numbers: [Place; 3],
    bytes: Place,
    iteration: Place,
    layer: Place,
    signature: Place,
    shapes: HashMap<u64, String>,
    by_signature: FastMap<u64, u32>,
    by_number: FastMap<u64, u32>,
}

struct LaunchColumns {
    numbers: [Place; 9],
    ptx: Place,
    reason: Place,
    met: FastMap<[Option<u64>; 11], u32>,
    hashes: NumberedNames,
    reasons: NumberedNames,
    sources: HashMap<u32, String>,
}

impl Details {
    pub(super) fn load(
        database: &Database,
        class: Class,
        columns: &TableColumns,
        names: &mut Names,
    ) -> Result<Details, GraphError> {
        let column = |name: &str| columns.place(name);
        let launch = if class == Class::Kernel {
            Some(LaunchColumns {
                numbers: [
                    column("grid_x"),
                    column("grid_y"),
                    column("grid_z"),
                    column("block_x"),
                    column("block_y"),
                    column("block_z"),
                    column("smem_static"),
                    column("smem_dynamic"),
                    column("registers"),
                ],
                ptx: column("ptx_hash"),
                reason: column("reason"),
                met: FastMap::default(),
                hashes: names.numbered(database, columns, "kernels", "ptx_hash")?,
                reasons: names.numbered(database, columns, "kernels", "reason")?,
                sources: source_names(database, names)?,
            })
        } else {
            None
        };
        Ok(Details {
            launch,
            numbers: [column("row"), column("col"), column("depth")],
            bytes: column("bytes"),
            iteration: column("iteration"),
            layer: column("layer"),
            signature: column("signature"),
            shapes: match class {
                Class::Brick => shapes(database),
                _ => HashMap::new(),
            },
            by_signature: FastMap::default(),
            by_number: FastMap::default(),
        })
    }

    pub(super) fn numbers_into(
        &mut self,
        batch: &RowBatch,
        classes: &[Class],
        names: &Names,
        details: &mut NumberedDetails,
        to: &mut Vec<u32>,
    ) {
        let is_same = match classes.first() {
            Some(Class::Kernel) => self.launch.as_ref().is_some_and(|launch| {
                let mut columns = launch.columns();
                columns.all(|column| column.is_same(batch))
            }),
            Some(Class::Call | Class::Sync) => true,
            _ => false,
        };
        if is_same {
            let number = self.number(classes[0], batch, 0, names, details);
            return to.resize(to.len() + classes.len(), number);
        }
        for (row, class) in classes.iter().enumerate() {
            to.push(self.number(*class, batch, row, names, details));
        }
    }

    fn number(
        &mut self,
        class: Class,
        batch: &RowBatch,
        row: usize,
        names: &Names,
        details: &mut NumberedDetails,
    ) -> u32 {
        let known = |found: &mut FastMap<u64, u32>,
                     key,
                     detail: &dyn Fn() -> Option<Detail>,
                     details: &mut NumberedDetails| {
            *found
                .entry(key)
                .or_insert_with(|| detail().map_or(NONE, |detail| details.number(detail)))
        };
        match class {
            Class::Kernel => self
                .launch
                .as_mut()
                .map_or(NONE, |columns| columns.number(batch, row, names, details)),
            Class::Tile => {
                let [tile_row, col, depth] = self.numbers.each_ref().map(|n| n.u64(batch, row));
                details.number(Detail::Tile {
                    row: tile_row,
                    col,
                    depth,
                })
            }
            Class::Transfer => details.number(Detail::Transfer {
                bytes: self.bytes.u64(batch, row),
            }),
            Class::Iteration | Class::Layer => {
                let column = if class == Class::Layer {
                    self.layer
                } else {
                    self.iteration
                };
                let Some(number) = column.u64(batch, row) else {
                    return NONE;
                };
                known(
                    &mut self.by_number,
                    number,
                    &|| Some(Detail::Number(number)),
                    details,
                )
            }
            _ => {
                let Some(signature) = self.signature.u64(batch, row) else {
                    return NONE;
                };
                let shapes = || self.shapes.get(&signature).cloned().map(Detail::Shapes);
                known(&mut self.by_signature, signature, &shapes, details)
            }
        }
    }
}

impl LaunchColumns {
    fn columns(&self) -> impl Iterator<Item = &Place> {
        self.numbers.iter().chain([&self.ptx, &self.reason])
    }

    fn number(
        &mut self,
        batch: &RowBatch,
        row: usize,
        names: &Names,
        details: &mut NumberedDetails,
    ) -> u32 {
        let mut columns = self.columns();
        let bits =
            std::array::from_fn(|_| columns.next().and_then(|column| column.bits(batch, row)));
        drop(columns);
        if let Some(number) = self.met.get(&bits) {
            return *number;
        }
        let launch = self.launch(batch, row, names);
        let number = if launch.is_empty() {
            NONE
        } else {
            details.number(Detail::Launch(launch))
        };
        self.met.insert(bits, number);
        number
    }

    fn launch(&self, batch: &RowBatch, row: usize, names: &Names) -> Launch {
        let [gx, gy, gz, bx, by, bz, fixed, asked, registers] =
            (self.numbers.each_ref()).map(|numbers| numbers.u64(batch, row));
        let text = |column: Place, texts: &NumberedNames| {
            column.bits(batch, row).and_then(|number| texts.get(number))
        };
        let (ptx, reason) = (
            text(self.ptx, &self.hashes),
            text(self.reason, &self.reasons),
        );
        let name = |number: u32| names.names[number as usize].clone();
        Launch {
            grid: [gx, gy, gz],
            block: [bx, by, bz],
            smem_static: fixed,
            smem_dynamic: asked,
            registers,
            ptx: ptx.map(name),
            ptx_name: ptx.and_then(|hash| self.sources.get(&hash).cloned()),
            reason: reason.map(name),
        }
    }
}

fn shapes(database: &Database) -> HashMap<u64, String> {
    let sql = "SELECT id, input_dims FROM signatures";
    let Ok(rows) = Rows::ask(database, "signatures", sql) else {
        return HashMap::new();
    };
    let (Ok(ids), Ok(dims)) = (rows.numbers("id"), rows.texts("input_dims")) else {
        return HashMap::new();
    };
    let each = (0..rows.len()).filter_map(|row| {
        let shown = trueno_model::shapes::short(dims[row].as_deref()?)?;
        Some((ids.u64(row)?, shown))
    });
    each.collect()
}

/// Names of sources by hash number; the first name if there are several.
fn source_names(
    database: &Database,
    names: &mut Names,
) -> Result<HashMap<u32, String>, GraphError> {
    let rows = Rows::ask(
        database,
        "ptx",
        "SELECT hash_id, name_id FROM ptx WHERE name IS NOT NULL",
    )?;
    let hashes = names.number_column(database, "ptx", "hash")?;
    let texts = names.number_column(database, "ptx", "name")?;
    let (hash, name) = (rows.numbers("hash_id")?, rows.numbers("name_id")?);
    let mut found: HashMap<u32, String> = HashMap::new();
    for row in 0..rows.len() {
        let hash = hash.i64(row).and_then(|id| hashes.get(&id));
        let name = name.i64(row).and_then(|id| texts.get(&id));
        if let (Some(hash), Some(name)) = (hash, name) {
            let name = &names.names[*name as usize];
            let kept = found.entry(*hash).or_insert_with(|| name.clone());
            if name < kept {
                kept.clone_from(name);
            }
        }
    }
    Ok(found)
}
