use super::*;

/// `tensor` with single elements replaced or added to. Each index chooses an element along an axis. The index's own
/// position gives the other coordinates.
#[derive(Clone, Debug)]
pub struct ScatterElements<'a> {
    /// The array that is changed.
    pub tensor: &'a Tensor,
    /// The updates, and an index along `axis` for each.
    pub rows: Rows<'a>,
    /// The indexed dimension of `tensor`. A negative value counts from the end.
    pub axis: i64,
    /// How an update is combined with its element.
    pub combine: Combine,
}

impl<'a> Op<'a> for ScatterElements<'a> {
    const SCATTERS: bool = true;

    fn of(case: &'a Case) -> Result<Self, BadLine> {
        Ok(Self {
            tensor: case.tensor("tensor")?,
            rows: Rows::of(case)?,
            axis: case.arguments().integer("axis")?,
            combine: case.arguments().combine("combine")?,
        })
    }

    fn answer(&self) -> Result<Answer, ReferenceError> {
        let (tensor, indices, updates) = (self.tensor, self.rows.indices, self.rows.updates);
        let scattered_elements = reference::scatter_elements(
            &tensor.data,
            &tensor.shape,
            &indices.data,
            &indices.shape,
            &updates.data,
            &updates.shape,
            self.axis,
            self.rows.indexing,
            |old, new| *old = combine(self.combine, None, *old, *new),
        )?;
        Ok(scattered(scattered_elements, &tensor.shape))
    }

    fn run(&self, run: &Run<'_>) -> Result<Started, Error> {
        let options = ScatterOptions {
            axis: Some(isize::try_from(self.axis).unwrap_or(isize::MAX)),
            ..run.scatter(self.combine, self.rows.indexing)
        };
        let mut tensor = run.tensor(self.tensor)?;
        let [indices, updates] = self.rows.on(run)?;
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
        self.rows.tuples()
    }

    fn is_unique(&self) -> bool {
        let Ok(axis) = usize::try_from(self.axis.rem_euclid(self.tensor.shape.len().max(1) as i64))
        else {
            return false;
        };
        let sizes = &self.rows.indices.shape;
        let (Some(&along), Some(&size)) = (sizes.get(axis), self.tensor.shape.get(axis)) else {
            return false;
        };
        // Elements of different lines along the axis go to different places.
        let inner: usize = sizes[axis + 1..].iter().product();
        let line = |row: usize| (row / (along * inner), row % inner);
        differ(&self.rows.indices.data, &[size], self.rows.indexing, line)
    }

    fn computes(&self) -> bool {
        self.combine != Combine::Update
    }
}
