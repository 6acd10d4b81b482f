//! Details of a node beside its times: the shape of a launch, the place of a tile, the size of a copy.

use std::fmt::Write;

use trueno_model::width;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Detail {
    Launch(Launch),
    Tile {
        row: Option<u64>,
        col: Option<u64>,
        /// Index along the reduction.
        depth: Option<u64>,
    },
    Transfer {
        bytes: Option<u64>,
    },
    /// For a layer or an iteration.
    Number(u64),
    /// Dimensions of an operator's operands, in the form of [`trueno_model::shapes`].
    Shapes(String),
}

const MAX_SHAPES: usize = 60;

/// Launch configuration of a kernel. `None` is not recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Launch {
    pub grid: [Option<u64>; 3],
    pub block: [Option<u64>; 3],
    pub smem_static: Option<u64>,
    pub smem_dynamic: Option<u64>,
    pub registers: Option<u64>,
    pub ptx: Option<String>,
    pub ptx_name: Option<String>,
    pub reason: Option<String>,
}

impl Launch {
    pub fn is_empty(&self) -> bool {
        *self == Launch::default()
    }

    /// `<<<(gx,gy,gz),(bx,by,bz)>>>`; `None` if nothing was recorded.
    pub fn shape(&self) -> Option<String> {
        let parts = self.grid.iter().chain(&self.block);
        parts.clone().any(Option::is_some).then(|| {
            let side = |of: &[Option<u64>; 3]| of.map(number).join(",");
            format!("<<<({}),({})>>>", side(&self.grid), side(&self.block))
        })
    }

    /// Everything recorded about it: shape, shared memory (static + dynamic), registers, source.
    pub fn text(&self) -> String {
        let mut text = self.shape().unwrap_or_default();
        let mut add = |part: String| {
            if !text.is_empty() {
                text.push_str("  ");
            }
            text.push_str(&part);
        };
        if self.smem_static.is_some() || self.smem_dynamic.is_some() {
            let (fixed, asked) = (number(self.smem_static), number(self.smem_dynamic));
            add(format!("smem {fixed}+{asked} B"));
        }
        if let Some(registers) = self.registers {
            add(format!("{registers} regs"));
        }
        match (&self.ptx_name, &self.ptx) {
            (Some(name), Some(hash)) => add(format!("ptx {name} {hash}")),
            (None, Some(hash)) => add(format!("ptx {hash}")),
            (_, None) => {}
        }
        if let Some(reason) = &self.reason {
            add(format!("not valid: {reason}"));
        }
        text
    }
}

impl Detail {
    pub fn suffix(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = match self {
            Detail::Number(number) => write!(text, " {number}"),
            Detail::Tile { row, col, depth } => {
                let depth = depth.map_or(String::new(), |depth| format!(",{depth}"));
                write!(text, " ({},{}{depth})", number(*row), number(*col))
            }
            Detail::Transfer { bytes: Some(bytes) } => write!(text, " {bytes} B"),
            Detail::Shapes(shapes) => write!(text, " [{}]", width::shorten(shapes, MAX_SHAPES)),
            Detail::Transfer { bytes: None } | Detail::Launch(_) => Ok(()),
        };
        text
    }
}

fn number(value: Option<u64>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launch_says_what_was_recorded_and_no_more() {
        let mut launch = Launch::default();
        assert!(launch.is_empty());
        assert_eq!((launch.shape(), launch.text().as_str()), (None, ""));
        launch.grid = [Some(32), Some(1), Some(1)];
        assert_eq!(launch.text(), "<<<(32,1,1),(–,–,–)>>>");
        launch.block = [Some(256), Some(1), Some(1)];
        launch.smem_dynamic = Some(49152);
        launch.registers = Some(40);
        launch.ptx = Some("00ff".into());
        assert_eq!(
            launch.text(),
            "<<<(32,1,1),(256,1,1)>>>  smem –+49152 B  40 regs  ptx 00ff"
        );
    }
}
