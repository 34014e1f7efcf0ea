//! Macros for methods of [`Backend`](crate::Backend) and [`Tensor`](crate::Tensor) that plan an operation and run it.
//!
//! A declaration has the arrays and options as parameters, the kind of the result, and the plan. It ends with the
//! arrays in the order of the plan's inputs. Arrays that are optional, or that come in any number, follow a bar (`|`).
//! If a method on host values changes a copy of an array, this array comes last, after a semicolon if there is a bar.
//!
//! | kind | result |
//! |---|---|
//! | `made` | the result |
//! | `reported` | the result and the report |
//! | `changed` | for tensors: the report of a change in place |

use crate::prelude::*;
use crate::{
    ArrayRef, Backend, DType, Element, Error, MaskElement, Pending, Plan, Report, Tensor, Values,
    View, cpu, error,
};
use alloc::borrow::Cow;

/// Declares methods of [`Backend`](crate::Backend). Arrays have elements of type `T`, `I` or `M`.
///
/// | parameter | in the plan |
/// |---|---|
/// | `view x: T` | a [`View`] of the caller's memory |
/// | `rows x: T` | a shape; the values are first copied to row-major order if necessary |
/// | `mask x: M` | a [`HostMask`] |
/// | `boxes x: T` | the arrays of boxes, in row-major order: their shapes and types |
/// | `all x: T` | any number of arrays: their views |
/// | `by x: TYPE` | an option, unchanged |
macro_rules! host_methods {
    ($($(#[$doc:meta])*
        fn $name:ident $(<$generic:ident: $bound:ident>)? ($($how:ident $given:ident: $type:ty),+)
            -> $kind:ident = |$dtype:ident| $plan:expr,
            [$($order:ident),* $(| $($some:ident),+)? $(; $changed:ident)?];)*) => {
        impl $crate::Backend {$(
            $(#[$doc])*
            pub fn $name<'a, T: $crate::Element $(, $generic: $crate::$bound)?>(
                &self,
                $($given: $crate::ops::methods::host_methods!(@type $how $type)),+
            ) -> Result<$crate::ops::methods::host_methods!(@result $kind), $crate::Error> {
                $(let $given = $crate::ops::methods::host_methods!(@read $how $given self);)+
                let plan = {
                    let $dtype = T::DTYPE;
                    $(let $given = $crate::ops::methods::host_methods!(@plan $how $given);)+
                    $plan?
                };
                $crate::ops::methods::host_methods!(@run self plan $kind [$($order)*] [$($($some)+)?] [$($changed)?])
            }
        )*}
    };
    (@type by $type:ty) => { $type };
    (@type boxes $element:ty) => {
        $crate::options::Boxes<$crate::ArrayRef<'a, $element>, $crate::ArrayRef<'a, bool>>
    };
    (@type all $element:ty) => { &[$crate::ArrayRef<'a, $element>] };
    (@type $how:ident $element:ty) => { impl Into<$crate::ArrayRef<'a, $element>> };
    (@result made) => { $crate::Array<T> };
    (@result reported) => { ($crate::Array<T>, $crate::Report) };
    (@read by $given:ident $backend:ident) => { ((), $given) };
    (@read view $given:ident $backend:ident) => { $given.into().memory(stringify!($given))? };
    (@read rows $given:ident $backend:ident) => {
        $given.into().row_major(stringify!($given), $backend)?
    };
    (@read mask $given:ident $backend:ident) => {
        $crate::ops::methods::HostMask::read($given.into(), stringify!($given), $backend)?
    };
    (@read boxes $given:ident $backend:ident) => { $given.read($backend)? };
    (@read all $given:ident $backend:ident) => {
        $crate::ops::methods::memories_and_views(stringify!($given), $given)?
    };
    (@plan boxes $given:ident) => { $given.1.clone() };
    (@plan all $given:ident) => { &$given.1[..] };
    (@plan rows $given:ident) => { &$given.1[..] };
    (@plan $how:ident $given:ident) => { $given.1 };
    (@run $backend:ident $plan:ident $kind:ident [$($order:ident)+] [] []) => {
        $crate::ops::methods::host_methods!(
            @done $kind $backend.run_checked($plan, &[$((&$order.0[..]).into()),+])
        )
    };
    (@run $backend:ident $plan:ident $kind:ident [$($order:ident)*] [$($some:ident)+] [$($changed:ident)?]) => {{
        let mut inputs: Vec<$crate::Values<'_>> = vec![$((&$order.0[..]).into()),*];
        $($crate::ops::methods::InputList::add_to(&$some, &mut inputs);)+
        $(inputs.push((&$changed.0[..]).into());)?
        $crate::ops::methods::host_methods!(@done $kind $backend.run_checked($plan, &inputs))
    }};
    (@done made $made:expr) => { Ok($made?.0) };
    (@done reported $made:expr) => { $made };
}
pub(super) use host_methods;

/// Declares methods of [`Tensor`](crate::Tensor). The expression of the plan gets the tensors and reads their
/// [layouts](Tensor::layout) or shapes.
///
/// | parameter | meaning |
/// |---|---|
/// | `self x` | the tensor itself |
/// | `of x` | not a parameter: names the tensor with which others are compared, in a method without `self`. Its parameter is `lead x` |
/// | `all x` | any number of tensors, without `self`: their layouts |
/// | `like x` | a tensor of the same element type and device |
/// | `rows x` | a tensor of the same device and any element type |
/// | `mask x` | a mask: its type is checked before shapes |
/// | `by x: TYPE` | an option |
macro_rules! tensor_methods {
    ($($(#[$doc:meta])*
        fn $name:ident ($receiver:tt $this:ident $(, $how:ident $given:ident $(: $type:ty)?)*)
            -> $kind:ident = |$dtype:ident| $plan:expr, [$($order:ident),* $(| $($some:ident),+)?];)*) => {
        impl $crate::Tensor {$(
            $crate::ops::methods::tensor_methods! {
                @$receiver $kind [$(#[$doc])*] $name $this [$($how $given [$($type)?])*] $dtype [$plan]
                [$($order)*] [$($($some)+)?]
            }
        )*}
    };
    (@self made [$($doc:tt)*] $name:ident $this:ident $given:tt $dtype:ident $plan:tt $order:tt $some:tt) => {
        $crate::ops::methods::tensor_methods! {
            @method [$($doc)*] $name [&self,] [self] $this $given [Self] $dtype $plan $order $some
            [] [$crate::ops::methods::run_for_tensor]
        }
    };
    (@self reported [$($doc:tt)*] $name:ident $this:ident $given:tt $dtype:ident $plan:tt $order:tt $some:tt) => {
        $crate::ops::methods::tensor_methods! {
            @method [$($doc)*] $name [&self,] [self] $this $given
            [(Self, $crate::Pending<$crate::Report>)] $dtype $plan $order $some
            [] [$crate::ops::methods::run_reporting]
        }
    };
    (@self changed [$($doc:tt)*] $name:ident $this:ident $given:tt $dtype:ident $plan:tt $order:tt $some:tt) => {
        $crate::ops::methods::tensor_methods! {
            @method [$($doc)*] $name [&mut self,] [&*self] $this $given
            [$crate::Pending<$crate::Report>] $dtype $plan $order $some
            [, &mut [self]] [Self::run_into]
        }
    };
    (@of made [$($doc:tt)*] $name:ident $this:ident $given:tt $dtype:ident $plan:tt $order:tt $some:tt) => {
        $crate::ops::methods::tensor_methods! {
            @method [$($doc)*] $name [] [$this] $this $given [Self] $dtype $plan $order $some
            [] [$crate::ops::methods::run_for_tensor]
        }
    };
    (@of reported [$($doc:tt)*] $name:ident $this:ident $given:tt $dtype:ident $plan:tt $order:tt $some:tt) => {
        $crate::ops::methods::tensor_methods! {
            @method [$($doc)*] $name [] [$this] $this $given
            [(Self, $crate::Pending<$crate::Report>)] $dtype $plan $order $some
            [] [$crate::ops::methods::run_reporting]
        }
    };
    (@all made [$($doc:tt)*] $name:ident $all:ident [$(by $option:ident [$type:ty])*] $dtype:ident [$plan:expr]
        [] [$same:ident]) => {
        $($doc)*
        pub fn $name($all: &[&Self] $(, $option: $type)*) -> Result<Self, $crate::Error> {
            let inputs = $all;
            let ($dtype, $all) = $crate::ops::methods::dtype_and_layouts(inputs)?;
            $crate::ops::methods::run_for_tensor(&$plan?, inputs)
        }
    };
    (@method [$($doc:tt)*] $name:ident [$($receiver:tt)*] [$($itself:tt)*] $this:ident
        [$($how:ident $given:ident [$($type:ty)?])*] [$result:ty] $dtype:ident [$plan:expr]
        [$($order:ident)*] [$($some:ident)*] [$($changed:tt)*] [$($run:tt)*]) => {
        $($doc)*
        pub fn $name(
            $($receiver)*
            $($given: $crate::ops::methods::tensor_methods!(@type $how $($type)?)),*
        ) -> Result<$result, $crate::Error> {
            let $this = $($itself)*;
            $($crate::ops::methods::tensor_methods!(@check $how $this $given);)*
            let $dtype = $this.dtype();
            let plan = $plan?;
            $crate::ops::methods::tensor_methods!(
                @run [$($run)*] plan [$($order)*] [$($some)*] [$($changed)*]
            )
        }
    };
    (@type by $type:ty) => { $type };
    (@type $how:ident) => { &$crate::Tensor };
    (@check like $this:ident $given:ident) => { $this.check_goes_with(stringify!($given), $given)? };
    (@check rows $this:ident $given:ident) => { $this.check_same_device(stringify!($given), $given)? };
    (@check mask $this:ident $given:ident) => {
        $this.check_same_device(stringify!($given), $given)?;
        $crate::error::mask::check($given.dtype())?
    };
    (@check $how:ident $this:ident $given:ident) => {};
    (@run [$($run:tt)*] $plan:ident [$($order:ident)*] [] [$($changed:tt)*]) => {
        $($run)*(&$plan, &[$($order),*] $($changed)*)
    };
    (@run [$($run:tt)*] $plan:ident [$($order:ident)*] [$($some:ident)+] [$($changed:tt)*]) => {{
        let mut inputs: Vec<&$crate::Tensor> = vec![$($order),*];
        $($crate::ops::methods::InputList::add_to(&$some, &mut inputs);)+
        $($run)*(&$plan, &inputs $($changed)*)
    }};
}
pub(super) use tensor_methods;

/// Inputs that are optional, or that come in any number.
pub(super) trait InputList<'s, V> {
    fn add_to(&'s self, inputs: &mut Vec<V>);
}

impl<'s, T: Element, S> InputList<'s, Values<'s>> for (Vec<Cow<'_, [T]>>, S) {
    fn add_to(&'s self, inputs: &mut Vec<Values<'s>>) {
        inputs.extend(self.0.iter().map(|values| Values::from(&values[..])));
    }
}

/// A mask in host memory: its shape, and the number of true elements.
pub(super) struct HostMask {
    pub(super) shape: Vec<usize>,
    pub(super) count: usize,
}

impl HostMask {
    pub(super) fn read<'a, M: MaskElement>(
        mask: ArrayRef<'a, M>,
        name: &'static str,
        backend: &Backend,
    ) -> Result<(Cow<'a, [M]>, Self), Error> {
        let (mask, shape) = mask.row_major(name, backend)?;
        let count = cpu::mask::count(M::as_bytes(&mask));
        let shape = shape.into_owned();
        Ok((mask, Self { shape, count }))
    }
}

type MemoriesAndViews<'a, T> = (Vec<Cow<'a, [T]>>, Vec<View>);

/// Returns the memory of each array, and the array as a view of this memory.
pub(super) fn memories_and_views<'a, T: Element>(
    name: &'static str,
    arrays: &[ArrayRef<'a, T>],
) -> Result<MemoriesAndViews<'a, T>, Error> {
    let mut memories = (
        Vec::with_capacity(arrays.len()),
        Vec::with_capacity(arrays.len()),
    );
    for array in arrays {
        let (values, view) = array.clone().memory(name)?;
        memories.0.push(values);
        memories.1.push(view);
    }
    Ok(memories)
}

/// Returns the element type and the layouts of tensors. Fails if there are no tensors, or if they differ in type or
/// device.
pub(super) fn dtype_and_layouts(tensors: &[&Tensor]) -> Result<(DType, Vec<View>), Error> {
    let first_tensor = tensors.first().ok_or_else(error::assembly::no_arrays)?;
    for tensor in tensors {
        first_tensor.check_goes_with("arrays", tensor)?;
    }
    let layouts = tensors.iter().map(|tensor| tensor.layout().clone());
    Ok((first_tensor.dtype(), layouts.collect()))
}

/// Runs a plan on tensors. Returns the first output.
pub(super) fn run_for_tensor(plan: &Plan, inputs: &[&Tensor]) -> Result<Tensor, Error> {
    Ok(run_reporting(plan, inputs)?.0)
}

/// Runs a plan on tensors. Returns the first output and the report.
pub(super) fn run_reporting(
    plan: &Plan,
    inputs: &[&Tensor],
) -> Result<(Tensor, Pending<Report>), Error> {
    let (mut outputs, report) = Tensor::run(plan, inputs)?;
    Ok((outputs.swap_remove(0), report))
}
