//! Work of each shape, from the model.

use std::collections::{BTreeMap, BTreeSet};

use trueno_analysis::hash::FastMap;
use trueno_operator_model::{
    ElementType, Models, Precision, RecordedTexts, Signature, SignatureError, Unit,
};
use trueno_plugin::{Error, Result};

use crate::calls::Calls;
use crate::groups::{self, Shape};
use crate::operations::Operations;
use crate::result_dims::ResultDims;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Work {
    pub flops: u64,
    pub moved_bytes: u64,
    /// Precision of its ceiling, as ceilings name it.
    pub precision: Option<String>,
    pub is_matrix: bool,
    pub family: String,
    pub rule: String,
    pub assumption: String,
    /// It only calls operators that do its work.
    pub is_container: bool,
}

impl Work {
    /// Its matrix products of 32-bit floats run on TF32 tensor cores.
    fn round_to_tf32(&mut self) {
        if self.is_matrix && self.precision.as_deref() == Some("f32") {
            self.precision = Some(ceiling_precision(Precision::Tf32));
        }
    }
}

/// The standard models, preceded by the `rules` of a user as TOML.
///
/// # Errors
/// The rules are wrong.
pub fn models(rules: &str) -> Result<Models> {
    if rules.is_empty() {
        return Ok(Models::standard());
    }
    Models::with_rules(rules, "operators.rules")
        .map_err(|error| Error::bad_option(error.to_string()))
}

#[derive(Default)]
pub struct Works {
    of_shapes: FastMap<Shape, std::result::Result<Work, String>>,
}

impl Works {
    /// Models each shape once. Kernel names provide the element types of tensor lists.
    pub fn new(calls: &Calls, operations: &Operations, models: &Models) -> Self {
        let mut of_shapes = FastMap::default();
        let list_types = list_element_types(calls, operations);
        let results = ResultDims::new(calls);
        for shape in calls.rows.iter().filter_map(groups::shape) {
            let list_type = || list_types.get(&shape).copied().flatten();
            let work = || work(models, calls, shape, list_type(), &results);
            of_shapes.entry(shape).or_insert_with(work);
        }
        for shape in shapes_in_tf32(calls, operations) {
            if let Some(Ok(work)) = of_shapes.get_mut(&shape) {
                work.round_to_tf32();
            }
        }
        Self { of_shapes }
    }

    pub fn is_any_known(&self) -> bool {
        self.of_shapes.values().any(|work| work.is_ok())
    }

    /// Work of a shape, or why it is unknown.
    ///
    /// # Errors
    /// There is no model for it.
    pub fn of(&self, shape: Shape) -> std::result::Result<&Work, &str> {
        match self.of_shapes.get(&shape) {
            Some(Ok(work)) => Ok(work),
            Some(Err(why)) => Err(why),
            None => Err("no call has this shape"),
        }
    }
}

/// Shapes whose calls launch a kernel that rounds 32-bit floats to TF32. Shapes themselves only state 32-bit floats.
fn shapes_in_tf32(calls: &Calls, operations: &Operations) -> BTreeSet<Shape> {
    let names = operations.kernel_names.all().iter();
    let in_tf32: Vec<bool> = names.map(|name| is_tf32_kernel(name)).collect();
    let rows = operations.rows.iter();
    let rows = rows.filter(|row| in_tf32.get(row.kernel as usize) == Some(&true));
    let around = rows.flat_map(|row| calls.outwards(row.begun_in));
    around
        .filter_map(|place| groups::shape(&calls.rows[place as usize]))
        .collect()
}

/// cuBLAS, cuDNN and CUTLASS name the type, or the instruction. `s1688` also multiplies 16-bit floats, which are named.
fn is_tf32_kernel(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let has_16_bits = name.contains("f16") || name.contains("fp16");
    name.contains("tf32") || name.contains("s1688gemm") && !has_16_bits
}

/// Element types of tensor lists, which traces do not record. They come from the names of the kernels launched by
/// the operator; `None` if the kernels disagree.
fn list_element_types(
    calls: &Calls,
    operations: &Operations,
) -> BTreeMap<Shape, Option<ElementType>> {
    let names = operations.kernel_names.all().iter();
    let of_kernels: Vec<_> = names
        .map(|name| ElementType::from_kernel_name(name))
        .collect();
    let mut out = BTreeMap::new();
    for operation in &operations.rows {
        let element_type = of_kernels.get(operation.kernel as usize).copied().flatten();
        let around = calls.outwards(operation.begun_in);
        let mut shapes = around.filter_map(|place| groups::shape(&calls.rows[place as usize]));
        if let (Some(element_type), Some(shape)) = (element_type, shapes.next()) {
            let known = out.entry(shape).or_insert(Some(element_type));
            if *known != Some(element_type) {
                *known = None;
            }
        }
    }
    out
}

fn work(
    models: &Models,
    calls: &Calls,
    shape: Shape,
    list_type: Option<ElementType>,
    results: &ResultDims,
) -> std::result::Result<Work, String> {
    let signature = signature(calls, shape).map_err(|error| error.to_string())?;
    let result_dims = results.of(calls.signature_ranks[shape.1 as usize], &signature);
    let signature = signature
        .with_list_element_type(list_type)
        .with_result_dims(result_dims);
    let work = models.work(&signature).map_err(|error| error.reason)?;
    Ok(Work {
        flops: work.flops,
        moved_bytes: work.moved_bytes,
        precision: work.precision.map(ceiling_precision),
        is_matrix: work.unit == Unit::Matrix,
        family: work.family.to_owned(),
        rule: work.rule.to_owned(),
        assumption: work.assumption.to_owned(),
        is_container: work.is_container(),
    })
}

pub(crate) fn signature(
    calls: &Calls,
    shape: Shape,
) -> std::result::Result<Signature, SignatureError> {
    let recorded = &calls.signatures[shape.1 as usize];
    let text = |of: &'_ Option<String>| of.clone().unwrap_or_default();
    let [dims, types] = [text(&recorded.dims), text(&recorded.types)];
    let [strides, concrete] = [text(&recorded.strides), text(&recorded.concrete)];
    let texts = RecordedTexts {
        dims: &dims,
        types: &types,
        strides: &strides,
        concrete: &concrete,
    };
    Signature::parse(calls.names.text(shape.0), texts)
}

fn ceiling_precision(of: Precision) -> String {
    of.name().replace("fp", "f").replace("int", "i")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tf32_kernels_are_told_by_type_or_instruction() {
        for name in [
            "cutlass_80_tensorop_s1688gemm_128x128_16x5_nt_align4",
            "sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x64x32_stage3",
            "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_64x64_32x6_tn_align4>(Params)",
        ] {
            assert!(is_tf32_kernel(name), "{name}");
        }
        for name in [
            "turing_fp16_s1688gemm_fp16_128x64_ldg8_f2f_tn",
            "ampere_bf16_s1688gemm_bf16_128x128_ldg8_f2f_stages_32x1_tn",
            "ampere_fp16_s16816gemm_fp16_128x256_ldg8_f2f_stages_64x3_nn",
            "ampere_sgemm_128x64_nn",
        ] {
            assert!(!is_tf32_kernel(name), "{name}");
        }
    }
}
