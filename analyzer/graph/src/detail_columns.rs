//! The columns from which a node's details are made.

use std::collections::HashMap;

use trueno_engine::query::{Database, OrderedRow, RowBatch};

use super::columns::{Names, NumberedNames, Place, Rows, TableColumns};
use super::{Class, Detail, GraphError, Launch};

/// The columns that only some classes have.
pub(super) struct Details {
    launch: Option<LaunchColumns>,
    numbers: [Place; 3],
    bytes: Place,
    iteration: Place,
    layer: Place,
    signature: Place,
    shapes: HashMap<u64, String>,
}

struct LaunchColumns {
    numbers: [Place; 9],
    ptx: Place,
    reason: Place,
    hashes: NumberedNames,
    reasons: NumberedNames,
    /// Names of sources by hash.
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
        })
    }

    /// True if all rows of a batch have the same detail. Those of bricks depend on more than these columns.
    pub(super) fn is_same(&self, batch: &RowBatch) -> bool {
        self.launch.as_ref().is_some_and(|launch| {
            let columns = launch.numbers.iter();
            let mut columns = columns.chain([&launch.ptx, &launch.reason]);
            columns.all(|column| column.is_same(batch))
        })
    }

    pub(super) fn detail(
        &self,
        class: Class,
        row: &OrderedRow<'_>,
        names: &Names,
    ) -> Option<Detail> {
        match class {
            Class::Kernel => self
                .launch
                .as_ref()
                .map(|columns| columns.launch(row, names))
                .filter(|launch| !launch.is_empty())
                .map(Detail::Launch),
            Class::Tile => {
                let [tile_row, col, depth] = self.numbers.each_ref().map(|n| n.u64(row));
                Some(Detail::Tile {
                    row: tile_row,
                    col,
                    depth,
                })
            }
            Class::Transfer => Some(Detail::Transfer {
                bytes: self.bytes.u64(row),
            }),
            Class::Iteration => self.iteration.u64(row).map(Detail::Number),
            Class::Layer => self.layer.u64(row).map(Detail::Number),
            _ => {
                let shapes = self.shapes.get(&self.signature.u64(row)?)?;
                Some(Detail::Shapes(shapes.clone()))
            }
        }
    }
}

impl LaunchColumns {
    fn launch(&self, row: &OrderedRow<'_>, names: &Names) -> Launch {
        let [gx, gy, gz, bx, by, bz, fixed, asked, registers] =
            self.numbers.each_ref().map(|numbers| numbers.u64(row));
        let text = |column: Place, texts: &NumberedNames| {
            column.bits(row).and_then(|number| texts.get(number))
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

/// Shapes by signature; none where the run has no such table.
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

/// Names under which sources were kept, by the number of their hash; of several the first in order.
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
