//! Runs random cases and golden vectors as the command's `verify` does, but asynchronously.

use crate::device::Device;
use wasm_bindgen::prelude::*;
use wgslice::{Backend, Error};
use wgslice_vectors::{
    Call, Case, Outcome, Started, Variant, judge, parse,
    random::{answered, case, variant},
    start, variants,
};

/// The result of a case.
#[wasm_bindgen(getter_with_clone)]
pub struct Verdict {
    /// The case's operation.
    #[wasm_bindgen(readonly)]
    pub op: String,
    /// The first difference from the expected result, and the variant that gave it. `undefined` if there is none.
    #[wasm_bindgen(readonly)]
    pub problem: Option<String>,
    /// The case as a line of a vector file, which the command's `verify` reads. `undefined` if there is no difference.
    #[wasm_bindgen(readonly)]
    pub line: Option<String>,
}

/// Runs case `number` of a seed in one variant, such as one choice of element and index type.
#[wasm_bindgen]
pub async fn random_case(device: &Device, seed: u64, number: usize) -> Result<Verdict, JsError> {
    let case = answered(case(seed, number))?;
    let case_variants = Vec::from_iter(variant(&case));
    verdict(&device.backend, &case, case_variants).await
}

/// Returns case `number` of a seed, as a line of a vector file.
#[wasm_bindgen]
pub fn random_line(seed: u64, number: usize) -> Result<String, JsError> {
    Ok(answered(case(seed, number))?.to_line())
}

/// The cases of a vector file, one for each line that is not empty.
#[wasm_bindgen]
pub struct Vectors {
    cases: Vec<Case>,
}

#[wasm_bindgen]
impl Vectors {
    /// Reads the text of a file. A line that is not a case is an error, as is a file without cases.
    #[wasm_bindgen(constructor)]
    pub fn new(text: &str) -> Result<Self, JsError> {
        let cases = parse(text)
            .map(|case| {
                let case = case?;
                Call::of(&case)?;
                Ok(case)
            })
            .collect::<Result<Vec<_>, wgslice_vectors::BadLine>>()?;
        match cases.is_empty() {
            true => Err(JsError::new("it contains no cases")),
            false => Ok(Self { cases }),
        }
    }

    /// Returns the number of cases.
    #[wasm_bindgen(getter)]
    pub fn length(&self) -> usize {
        self.cases.len()
    }

    /// Runs case `number`, counted from 0, in every variant until a result is wrong.
    pub async fn run(&self, device: &Device, number: usize) -> Result<Verdict, JsError> {
        let case = self
            .cases
            .get(number)
            .ok_or_else(|| JsError::new("there is no such line"))?;
        let case_variants = variants(case, &Call::of(case)?);
        verdict(&device.backend, case, case_variants).await
    }
}

async fn verdict(
    device: &Backend,
    case: &Case,
    case_variants: Vec<Variant>,
) -> Result<Verdict, JsError> {
    let call = Call::of(case)?;
    let mut problem = None;
    for variant in case_variants {
        let result = outcome(&call, device, &variant).await;
        if let Err(difference) = judge(case, &call, device, &variant, result) {
            problem = Some(format!("{variant}: {difference}"));
            break;
        }
    }
    Ok(Verdict {
        op: case.op.to_string(),
        line: problem.is_some().then(|| case.to_line()),
        problem,
    })
}

async fn outcome(call: &Call<'_>, device: &Backend, variant: &Variant) -> Result<Outcome, Error> {
    let Started { result, report } = start(call, device, variant)?;
    let report = match report {
        Some(report) => Some(report.await?),
        None => None,
    };
    Ok(Outcome::new(
        &result,
        &result.bytes_async().await?,
        report.as_ref(),
    ))
}
