//! The type of a column of tensors.

use datafusion::{
    arrow::datatypes::{DataType, Field},
    common::plan_err,
    error::Result,
};
use serde::Deserialize;
use std::{borrow::Cow, collections::HashMap, sync::Arc};
use wgslice::DType;

/// The keys in a field's metadata for the name of an extension type, and for the type's parameters.
const EXTENSION_NAME_KEY: &str = "ARROW:extension:name";
const EXTENSION_METADATA_KEY: &str = "ARROW:extension:metadata";
const FIXED_SHAPE_TENSOR: &str = "arrow.fixed_shape_tensor";

/// The maximum number of elements of a tensor, and the maximum size of a dimension, because the lengths of lists are
/// `i32`. Nested lists could have more elements, but DataFusion allocates single rows while it plans a query, and a
/// failed allocation ends the process.
const MAX_LENGTH: usize = i32::MAX as usize;

/// How a column stores its tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// A `FixedSizeList` for each dimension: the shape is part of the Arrow type.
    Nested,
    /// One `FixedSizeList` with the extension type `arrow.fixed_shape_tensor`: the shape is part of the field's
    /// metadata, which engines might drop.
    Extension,
}

/// The type of a column of tensors: the type of the elements, and the shape that all tensors have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorType {
    element: DataType,
    dtype: DType,
    shape: Vec<usize>,
    layout: Layout,
    /// Dimension `i` of a tensor is dimension `permutation[i]` of the stored tensor. `None` if the dimensions are not
    /// permuted.
    permutation: Option<Vec<usize>>,
}

/// The parameters of `arrow.fixed_shape_tensor`.
#[derive(Deserialize)]
struct FixedShapeTensor {
    shape: Vec<usize>,
    permutation: Option<Vec<usize>>,
}

impl TensorType {
    /// Returns the type of tensors of this shape, stored with one `FixedSizeList` for each dimension.
    ///
    /// # Errors
    ///
    /// An error if tensors cannot have this element type, or if the number of elements or a dimension exceeds 2^31 - 1.
    pub fn new(element: DataType, shape: &[usize]) -> Result<Self> {
        let dtype = dtype(&element)?;
        if element_count(shape).is_none() || shape.iter().any(|&size| size > MAX_LENGTH) {
            return plan_err!(
                "shape {shape:?} is above {MAX_LENGTH} elements, which is the most that a row can have"
            );
        }
        let shape = shape.to_vec();
        Ok(Self {
            element,
            dtype,
            shape,
            layout: Layout::Nested,
            permutation: None,
        })
    }

    /// Returns the type of the tensors of a column.
    ///
    /// # Errors
    ///
    /// An error if the column's values are not tensors or are lists of different lengths, or if its metadata does not
    /// fit its lists.
    pub fn of(field: &Field) -> Result<Self> {
        let name = field.name();
        if field.metadata().get(EXTENSION_NAME_KEY).map(String::as_str) == Some(FIXED_SHAPE_TENSOR)
        {
            let parameters = field
                .metadata()
                .get(EXTENSION_METADATA_KEY)
                .map_or("", String::as_str);
            return Self::of_extension(name, field.data_type(), parameters);
        }
        let (mut shape, mut element) = (Vec::new(), field.data_type());
        while let DataType::FixedSizeList(item, length) = element {
            let Ok(length) = usize::try_from(*length) else {
                return plan_err!("column {name} has lists of the negative length {length}");
            };
            shape.push(length);
            element = item.data_type();
        }
        match element {
            DataType::List(_)
            | DataType::LargeList(_)
            | DataType::ListView(_)
            | DataType::LargeListView(_) => plan_err!(
                "column {name} of type {} has lists of different lengths, so its tensors have no fixed shape: \
                 cast it, as in arrow_cast({name}, 'FixedSizeList(3, Float32)')",
                field.data_type()
            ),
            _ => Self::new(element.clone(), &shape)
                .map_err(|error| error.context(format!("column {name} is no column of tensors"))),
        }
    }

    fn of_extension(name: &str, data_type: &DataType, parameters: &str) -> Result<Self> {
        let parameters: FixedShapeTensor = match serde_json::from_str(parameters) {
            Ok(parameters) => parameters,
            Err(error) => {
                return plan_err!(
                    "column {name} is of the extension type {FIXED_SHAPE_TENSOR}, but its metadata {parameters:?} \
                     cannot be read: {error}"
                );
            }
        };
        let shape = parameters.shape;
        let permutation = parameters.permutation;
        if let Some(permutation) = &permutation {
            let mut sorted = permutation.clone();
            sorted.sort_unstable();
            if !sorted.iter().copied().eq(0..shape.len()) {
                return plan_err!(
                    "column {name} is of the extension type {FIXED_SHAPE_TENSOR} with shape {shape:?} and permutation \
                     {permutation:?}, but a permutation must name each dimension once, from 0 on"
                );
            }
        }
        let DataType::FixedSizeList(item, length) = data_type else {
            return plan_err!(
                "column {name} is of the extension type {FIXED_SHAPE_TENSOR}, but stored as {data_type}"
            );
        };
        if element_count(&shape) != usize::try_from(*length).ok() {
            return plan_err!(
                "column {name} is of the extension type {FIXED_SHAPE_TENSOR} with shape {shape:?}, but its lists have \
                 {length} elements"
            );
        }
        let stored = Self::new(item.data_type().clone(), &shape)?.in_layout(Layout::Extension);
        let permutation = permutation.filter(|order| !order.is_sorted());
        Ok(match permutation {
            Some(order) => Self {
                shape: order.iter().map(|&dimension| shape[dimension]).collect(),
                permutation: Some(order),
                ..stored
            },
            None => stored,
        })
    }

    /// Returns the type of the tensors in a column of the same Arrow type, with these parameters of
    /// `arrow.fixed_shape_tensor` in its metadata.
    ///
    /// # Errors
    ///
    /// An error if the parameters cannot be parsed, or do not fit the Arrow type.
    pub fn with_parameters(&self, parameters: &str) -> Result<Self> {
        Self::of_extension("x", &self.data_type(), parameters)
    }

    /// Returns the type of tensors with the same element type and this shape, stored with one `FixedSizeList` for each
    /// dimension.
    ///
    /// # Errors
    ///
    /// An error if the number of elements or a dimension exceeds 2^31 - 1.
    pub fn with_shape(&self, shape: &[usize]) -> Result<Self> {
        Self::new(self.element.clone(), shape)
    }

    /// Returns the type of the same tensors, stored in this layout and in row-major order. [`Layout::Extension`] is for
    /// tensors of at least one dimension.
    pub fn in_layout(self, layout: Layout) -> Self {
        Self {
            layout,
            permutation: None,
            ..self
        }
    }

    /// Returns how the column stores its tensors.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Returns the type of an element.
    pub fn element(&self) -> &DataType {
        &self.element
    }

    /// Returns the library's type for an element.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Rejects elements that are not integers. `argument` is their name in the error.
    ///
    /// # Errors
    ///
    /// An error if the elements are floats or booleans.
    pub fn check_integers(&self, argument: &str) -> Result<()> {
        match self.element.is_integer() {
            true => Ok(()),
            false => plan_err!("{argument} are {}, but must be integers", self.element),
        }
    }

    /// Rejects elements of a type that a mask cannot have. `argument` is their name in the error.
    ///
    /// # Errors
    ///
    /// An error if the element type is neither Boolean nor UInt8.
    pub fn check_mask(&self, argument: &str) -> Result<()> {
        match self.element {
            DataType::Boolean | DataType::UInt8 => Ok(()),
            _ => plan_err!(
                "{argument} is {}, but must be Boolean or UInt8, as in '[true, false]'",
                self.element
            ),
        }
    }

    /// Returns the shape of each tensor.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns the order of the stored dimensions: dimension `i` of a tensor is dimension `permutation[i]` of the
    /// stored one, or `None` if the dimensions are not permuted.
    pub fn permutation(&self) -> Option<&[usize]> {
        self.permutation.as_deref()
    }

    /// Returns the shape in which each tensor is stored in row-major order.
    pub fn stored_shape(&self) -> Cow<'_, [usize]> {
        let Some(order) = &self.permutation else {
            return Cow::Borrowed(&self.shape);
        };
        let mut stored = vec![0; order.len()];
        for (&dimension, &size) in order.iter().zip(&self.shape) {
            stored[dimension] = size;
        }
        Cow::Owned(stored)
    }

    /// Returns the index of an element in the stored tensor, given its index in row-major order.
    pub fn place(&self, mut element: usize) -> usize {
        let Some(order) = &self.permutation else {
            return element;
        };
        let stored = self.stored_shape();
        let mut place = 0;
        for (&dimension, &size) in order.iter().zip(&self.shape).rev() {
            place += element % size * stored[dimension + 1..].iter().product::<usize>();
            element /= size;
        }
        place
    }

    /// Returns the number of elements of each tensor.
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }

    /// Returns the Arrow type of the column.
    pub fn data_type(&self) -> DataType {
        self.list_lengths()
            .iter()
            .rev()
            .fold(self.element.clone(), |item, &size| {
                let length = i32::try_from(size).unwrap_or(i32::MAX);
                DataType::FixedSizeList(Arc::new(Field::new_list_field(item, true)), length)
            })
    }

    /// Returns whether a column with this Arrow type can hold these tensors. Names and nullability of items are
    /// ignored.
    pub fn is_stored_as(&self, data_type: &DataType) -> bool {
        let mut element = data_type;
        for &size in &*self.list_lengths() {
            match element {
                DataType::FixedSizeList(item, length) if usize::try_from(*length) == Ok(size) => {
                    element = item.data_type();
                }
                _ => return false,
            }
        }
        *element == self.element
    }

    /// Returns the lengths of the nested lists, outermost first.
    pub(super) fn list_lengths(&self) -> Cow<'_, [usize]> {
        match self.layout {
            Layout::Nested => Cow::Borrowed(&self.shape),
            Layout::Extension => Cow::Owned(vec![self.elements()]),
        }
    }

    /// Returns the field of a nullable column with this name and type.
    pub fn field(&self, name: &str) -> Field {
        let field = Field::new(name, self.data_type(), true);
        match self.layout {
            Layout::Nested => field,
            Layout::Extension => field.with_metadata(HashMap::from([
                (EXTENSION_NAME_KEY.to_owned(), FIXED_SHAPE_TENSOR.to_owned()),
                (EXTENSION_METADATA_KEY.to_owned(), self.parameters()),
            ])),
        }
    }

    /// Returns the parameters of `arrow.fixed_shape_tensor` for these tensors, as JSON.
    pub fn parameters(&self) -> String {
        let shape = self.stored_shape();
        match &self.permutation {
            Some(order) => format!("{{\"shape\":{shape:?},\"permutation\":{order:?}}}"),
            None => format!("{{\"shape\":{shape:?}}}"),
        }
    }
}

/// Returns the number of elements of this shape, or `None` if it exceeds [`MAX_LENGTH`].
fn element_count(shape: &[usize]) -> Option<usize> {
    let count = shape
        .iter()
        .try_fold(1, |count: usize, &size| count.checked_mul(size));
    // A shape with a dimension of size 0 has no elements, even if the product of the other sizes overflows.
    let count = if shape.contains(&0) { Some(0) } else { count };
    count.filter(|&count| count <= MAX_LENGTH)
}

/// Returns the library's type for elements of this Arrow type.
fn dtype(element: &DataType) -> Result<DType> {
    Ok(match element {
        DataType::Int8 => DType::I8,
        DataType::UInt8 => DType::U8,
        DataType::Int16 => DType::I16,
        DataType::UInt16 => DType::U16,
        DataType::Float16 => DType::F16,
        DataType::Int32 => DType::I32,
        DataType::UInt32 => DType::U32,
        DataType::Float32 => DType::F32,
        DataType::Int64 => DType::I64,
        DataType::UInt64 => DType::U64,
        DataType::Float64 => DType::F64,
        DataType::Boolean => DType::Bool,
        other => {
            return plan_err!(
                "{other} is no type of elements: elements are booleans, integers of 8 to 64 bits or floats of 16 to 64 bits"
            );
        }
    })
}
