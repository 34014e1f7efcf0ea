//! The methods of [`Backend`](crate::Backend) and [`Tensor`](crate::Tensor) that plan an operation and run it.
//!
//! A declaration has the arrays, then the options, the kind of the result, and the plan of the arrays' views. It ends with
//! the arrays in the order of the plan's inputs, for a method on host values followed by the array of which the plan
//! changes a copy.
//!
//! | kind | result |
//! |---|---|
//! | `made` | the result |
//! | `reported` | the result and the report |
//! | `changed` | of tensors: the report of a change in place |

/// Declares methods of [`Backend`](crate::Backend). A `view` is read where it is in the caller's memory; `rows` are copied
/// to row-major order first if they are not in it. Arrays have elements of type `T`, `I` or `M`.
macro_rules! host_methods {
    ($($(#[$doc:meta])*
        fn $name:ident $(<$generic:ident: $bound:ident>)? $({$($first:ident: $of_first:ty),+})?
            ($($how:ident $array:ident: $element:ident),+ $(; $($option:ident: $type:ty),+)?)
            -> $kind:ident = |$dtype:ident| $plan:expr, [$($order:ident),+];)*) => {
        impl $crate::Backend {$(
            $(#[$doc])*
            pub fn $name<'a, T: $crate::Element $(, $generic: $crate::$bound)?>(
                &self,
                $($($first: $of_first,)+)?
                $($array: impl Into<$crate::ArrayRef<'a, $element>>,)+
                $($($option: $type,)+)?
            ) -> Result<$crate::ops::methods::host_methods!(@type $kind), $crate::Error> {
                $(let $array = $crate::ops::methods::host_methods!(@$how $array, self);)+
                let plan = {
                    let $dtype = T::DTYPE;
                    $(let $array = $array.1;)+
                    $plan?
                };
                let made = self.run(&plan, &[$((&$order.0[..]).into()),+])?;
                Ok($crate::ops::methods::host_methods!(@of $kind made))
            }
        )*}
    };
    (@type made) => { $crate::Array<T> };
    (@type reported) => { ($crate::Array<T>, $crate::Report) };
    (@of made $made:ident) => { $made.0 };
    (@of reported $made:ident) => { $made };
    (@view $array:ident, $backend:ident) => { $array.into().memory(stringify!($array))? };
    (@rows $array:ident, $backend:ident) => {{
        let (values, shape) = $array.into().row_major(stringify!($array), $backend)?;
        (values, $crate::View::whole(&shape))
    }};
}
pub(super) use host_methods;

/// Declares methods of [`Tensor`](crate::Tensor), with the tensor itself as the first array. Elements of a `like` go with
/// those of the tensor: they have its type.
macro_rules! tensor_methods {
    ($($(#[$doc:meta])*
        fn $name:ident $({$($first:ident: $of_first:ty),+})?
            (self $this:ident $(, $how:ident $array:ident)* $(; $($option:ident: $type:ty),+)?)
            -> $kind:ident = |$dtype:ident| $plan:expr, [$($order:ident),+];)*) => {
        impl $crate::Tensor {$(
            $crate::ops::methods::tensor_methods! {
                @$kind [$(#[$doc])*] $name [$($($first: $of_first)+)?] $this [$($how $array)*]
                [$($($option: $type)+)?] $dtype $plan, [$($order)+]
            }
        )*}
    };
    (@made [$($doc:tt)*] $name:ident [$($first:ident: $of_first:ty)*] $this:ident
        [$($how:ident $array:ident)*] [$($option:ident: $type:ty)*] $dtype:ident $plan:expr, [$($order:ident)+]) => {
        $($doc)*
        pub fn $name(
            &self,
            $($first: $of_first,)*
            $($array: &Self,)*
            $($option: $type,)*
        ) -> Result<Self, $crate::Error> {
            let $this = self;
            $($crate::ops::methods::tensor_methods!(@$how $this $array);)*
            let plan = $crate::ops::methods::tensor_methods!(@plan [$this $($array)*] $dtype $plan);
            Ok(Self::run(&plan, &[$($order),+])?.0.swap_remove(0))
        }
    };
    (@reported [$($doc:tt)*] $name:ident [$($first:ident: $of_first:ty)*] $this:ident
        [$($how:ident $array:ident)*] [$($option:ident: $type:ty)*] $dtype:ident $plan:expr, [$($order:ident)+]) => {
        $($doc)*
        pub fn $name(
            &self,
            $($first: $of_first,)*
            $($array: &Self,)*
            $($option: $type,)*
        ) -> Result<(Self, $crate::Pending<$crate::Report>), $crate::Error> {
            let $this = self;
            $($crate::ops::methods::tensor_methods!(@$how $this $array);)*
            let plan = $crate::ops::methods::tensor_methods!(@plan [$this $($array)*] $dtype $plan);
            let (mut made, report) = Self::run(&plan, &[$($order),+])?;
            Ok((made.swap_remove(0), report))
        }
    };
    (@changed [$($doc:tt)*] $name:ident [$($first:ident: $of_first:ty)*] $this:ident
        [$($how:ident $array:ident)*] [$($option:ident: $type:ty)*] $dtype:ident $plan:expr, [$($order:ident)+]) => {
        $($doc)*
        pub fn $name(
            &mut self,
            $($first: $of_first,)*
            $($array: &Self,)*
            $($option: $type,)*
        ) -> Result<$crate::Pending<$crate::Report>, $crate::Error> {
            let $this = &*self;
            $($crate::ops::methods::tensor_methods!(@$how $this $array);)*
            let plan = $crate::ops::methods::tensor_methods!(@plan [$this $($array)*] $dtype $plan);
            Self::run_into(&plan, &[$($order),+], &mut [self])
        }
    };
    (@plan [$this:ident $($array:ident)*] $dtype:ident $plan:expr) => {{
        let $dtype = $this.dtype();
        let $this = $this.layout();
        $(let $array = $array.layout();)*
        $plan?
    }};
    (@like $this:ident $array:ident) => { $this.check_goes_with(stringify!($array), $array)? };
    (@rows $this:ident $array:ident) => { $this.check_same_device(stringify!($array), $array)? };
}
pub(super) use tensor_methods;
