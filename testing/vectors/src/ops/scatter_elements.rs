use super::{Op, Operation, scatter_nd::differ};
use crate::reference::{self, Indexing, ReferenceError};
use crate::{
    case::{BadLine, Case, Tensor},
    combine::combine,
    oracle::{Answer, scattered},
    random::{
        Rng,
        draw::{disturb, policy, shape, tensor, tuples},
    },
    variant::{Run, Started},
};
use serde_json::Map;
use wgslice::{Error, options::Combine};

/// `tensor` with single elements replaced or added to. Each index chooses an element along an axis. The index's own
/// position gives the other coordinates.
#[derive(Clone, Debug)]
pub struct ScatterElements<'a> {
    /// The array that is changed.
    pub tensor: &'a Tensor,
    /// The indices along `axis`, one for each update.
    pub indices: &'a Tensor,
    /// The updates, one element for each index.
    pub updates: &'a Tensor,
    /// The indexed dimension of `tensor`. A negative value counts from the end.
    pub axis: i64,
    /// How an update is combined with its element.
    pub combine: Combine,
    /// Whether negative indices count from the end, and whether out-of-range ones are clamped.
    pub indexing: Indexing,
}

impl<'a> Op<'a> for ScatterElements<'a> {
    const SCATTERS: bool = true;

    fn of(case: &'a Case) -> Result<Self, BadLine> {
        Ok(Self {
            tensor: case.tensor("tensor")?,
            indices: case.tensor("indices")?,
            updates: case.tensor("updates")?,
            axis: case.arguments().integer("axis")?,
            combine: case.arguments().combine("combine")?,
            indexing: case.arguments().indexing()?,
        })
    }

    fn answer(&self) -> Result<Answer, ReferenceError> {
        let (tensor, indices) = (self.tensor, self.indices);
        let scattered_elements = reference::scatter_elements(
            &tensor.data,
            &tensor.shape,
            &indices.data,
            &indices.shape,
            &self.updates.data,
            &self.updates.shape,
            self.axis,
            self.indexing,
            |old, new| *old = combine(self.combine, None, *old, *new),
        )?;
        Ok(scattered(scattered_elements, &tensor.shape))
    }

    fn run(&self, run: &Run<'_>) -> Result<Started, Error> {
        let policies = run.scatter(self.combine, self.indexing);
        let options = wgslice::options::ScatterOptions {
            axis: Some(isize::try_from(self.axis).unwrap_or(isize::MAX)),
            combine: Some(self.combine),
            out_of_range: policies.out_of_range,
            negative: policies.negative,
            any_order: policies.any_order,
            unique: policies.unique,
        };
        let (mut tensor, updates) = (run.tensor(self.tensor)?, run.tensor(self.updates)?);
        let indices = run.indices(self.indices)?;
        let report = tensor.scatter_elements(&indices, &updates, options)?;
        Ok(Started::new(tensor, report))
    }

    fn random(operation: Operation, rng: &mut Rng) -> Case {
        let shape = shape(rng, 5, 1);
        let axis = rng.usize(..shape.len());
        let mut sizes = shape.clone();
        for size in &mut sizes {
            if rng.u8(..3) == 0 {
                *size = rng.usize(..=*size);
            }
        }
        sizes[axis] = rng.usize(..6);
        let mut indices = tuples(rng, &sizes, &shape[axis..=axis]);
        if rng.u8(..3) == 0 && sizes[axis] <= shape[axis] {
            // The indices along a line differ.
            let inner: usize = sizes[axis + 1..].iter().product();
            let first = rng.usize(..shape[axis].max(1));
            for (n, index) in indices.data.iter_mut().enumerate() {
                *index = ((first + n / inner % sizes[axis]) % shape[axis]) as i64;
            }
        }
        disturb(rng, &mut sizes);
        indices.data.resize(sizes.iter().product(), 0);
        let mut updates_shape = sizes.clone();
        disturb(rng, &mut updates_shape);
        let mut updates = tensor(rng, &updates_shape);
        let combine = match rng.u8(..12) {
            0..4 => "add",
            4 => "sub",
            5 => "mul",
            6 => "min",
            7 => "max",
            _ => "update",
        };
        // Small values, so that the result of a few updates fits in the smallest elements.
        let most = if combine == "mul" { 2 } else { 8 };
        updates.data.iter_mut().for_each(|value| *value %= most);
        indices.shape = sizes;
        let mut args = Map::new();
        let from_end = if rng.bool() { shape.len() as i64 } else { 0 };
        args.insert("axis".into(), (axis as i64 - from_end).into());
        if combine != "update" {
            args.insert("combine".into(), combine.into());
        }
        policy(rng, &mut args);
        let tensor = tensor(rng, &shape);
        let tensors = [
            ("tensor", tensor),
            ("indices", indices),
            ("updates", updates),
        ];
        Case::new(operation, tensors, args)
    }

    fn tuples(&self) -> Option<(&'a Tensor, Indexing)> {
        Some((self.indices, self.indexing))
    }

    fn is_unique(&self) -> bool {
        let Ok(axis) = usize::try_from(self.axis.rem_euclid(self.tensor.shape.len().max(1) as i64))
        else {
            return false;
        };
        let sizes = &self.indices.shape;
        let (Some(&along), Some(&size)) = (sizes.get(axis), self.tensor.shape.get(axis)) else {
            return false;
        };
        // Elements of different lines along the axis go to different places.
        let inner: usize = sizes[axis + 1..].iter().product();
        let line = |row: usize| (row / (along * inner), row % inner);
        differ(&self.indices.data, &[size], self.indexing, line)
    }

    fn computes(&self) -> bool {
        self.combine != Combine::Update
    }
}
