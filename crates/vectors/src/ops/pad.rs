use super::*;
use crate::reference::PadMode;
use wgslice::options;

/// An array with further positions around it.
#[derive(Clone, Debug)]
pub struct Pad<'a> {
    /// The array.
    pub params: Params<'a>,
    /// The numbers of new positions before and after each dimension, alternately in one list.
    pub paddings: Vec<usize>,
    /// How the values of the new positions are chosen.
    pub mode: PadMode,
    /// The constant of the mode `Constant`, a scalar.
    pub constant: &'a Tensor,
}

const PAD_MODES: [(&str, PadMode); 5] = [
    ("constant", PadMode::Constant),
    ("edge", PadMode::Edge),
    ("reflect", PadMode::Reflect),
    ("symmetric", PadMode::Symmetric),
    ("wrap", PadMode::Wrap),
];

impl Pad<'_> {
    fn padding_pairs(&self) -> Vec<[usize; 2]> {
        self.paddings
            .chunks(2)
            .map(|pair| [pair[0], pair[1]])
            .collect()
    }
}

impl<'a> Op<'a> for Pad<'a> {
    fn from_case(case: &'a Case) -> Result<Self, BadLine> {
        let arguments = case.arguments();
        let mode = case.args.get("mode").and_then(|mode| mode.as_str());
        let named_mode = PAD_MODES.iter().find(|(name, _)| Some(*name) == mode);
        Ok(Self {
            params: Params::from_case(case)?,
            paddings: arguments.sizes("paddings")?,
            mode: named_mode.map_or(PadMode::Constant, |(_, mode)| *mode),
            constant: case.tensor("constant")?,
        })
    }

    fn reference_answer(&self) -> Result<Answer, ReferenceError> {
        let params = self.params.reference_array()?;
        let constant = self.constant.data.first().copied().unwrap_or_default();
        let (values, shape) = (&params.data, &params.shape);
        reference::pad(values, shape, &self.padding_pairs(), self.mode, &constant)
            .map(answer_in_range)
    }

    fn run(&self, run: &DeviceRun<'_>) -> Result<Started, Error> {
        let constant = run.upload_tensor(self.constant)?;
        let mode = match self.mode {
            PadMode::Constant => options::Pad::Constant(&constant),
            PadMode::Edge => options::Pad::Edge,
            PadMode::Reflect => options::Pad::Reflect,
            PadMode::Symmetric => options::Pad::Symmetric,
            PadMode::Wrap => options::Pad::Wrap,
        };
        Ok(self
            .params
            .upload(run)?
            .pad(&self.padding_pairs(), mode)?
            .into())
    }

    fn random_case(operation: Operation, rng: &mut Rng) -> Case {
        let source_shape = draw_shape(rng, 4, 1);
        let mut args = Map::new();
        let params_shape = random_view(rng, &source_shape, &mut args);
        let mode = PAD_MODES[rng.usize(..PAD_MODES.len())].0;
        let mut paddings = Vec::new();
        for &size in &params_shape {
            for _ in 0..2 {
                paddings.push(match rng.u8(..30) {
                    0 => size + 1,
                    1..12 => 0,
                    _ => rng
                        .usize(..=size.min(4))
                        .min(size.saturating_sub(usize::from(mode == "reflect"))),
                });
            }
        }
        if rng.u8(..40) == 0 {
            paddings.extend([0, 0]);
        }
        args.insert("mode".into(), mode.into());
        args.insert("paddings".into(), json!(paddings));
        let tensors = [
            ("params", draw_tensor(rng, &source_shape)),
            ("constant", draw_tensor(rng, &[])),
        ];
        Case::new(operation, tensors, args)
    }
}
