//! Writes kernels for slices, modelled on the kernels of peers, which are other projects.

use super::{
    Bounds, Launch, Peer, assemble_shader, onnx_runtime_coordinate, row_major_strides,
    tfjs_coordinate, to_four_numbers, to_four_words,
};

/// Returns the dispatch of a slice. `slices` has Python's start, stop and step for each dimension.
pub(crate) fn slice_launch(peer: Peer, shape: &[usize], slices: &[Bounds]) -> Option<Launch> {
    let rank = shape.len();
    let dims: Vec<_> = shape
        .iter()
        .zip(slices)
        .map(|(&size, dim)| resolve_bounds(size, dim))
        .collect();
    let mut output_shape: Vec<usize> = dims.iter().map(|dim| dim.count).collect();
    let mut input_shape = shape.to_vec();
    let start_of = |dim: &Dim| match peer {
        // For a backward slice, ONNX Runtime's kernel uses the end as the start.
        Peer::OnnxRuntime if dim.step < 0 => dim.stop.max(0),
        _ => dim.start,
    };
    let mut starts: Vec<i64> = dims.iter().map(start_of).collect();
    let last_dim = rank - 1;
    let is_vectorised = peer == Peer::OnnxRuntime
        && dims[last_dim].step == 1
        && starts[last_dim] % 4 == 0
        && input_shape[last_dim].is_multiple_of(4)
        && output_shape[last_dim].is_multiple_of(4);
    let element = if is_vectorised {
        input_shape[last_dim] /= 4;
        output_shape[last_dim] /= 4;
        starts[last_dim] /= 4;
        "vec4<f32>"
    } else {
        "f32"
    };
    let mut body = String::new();
    for dim in 0..rank {
        body += &match peer {
            Peer::OnnxRuntime => onnx_runtime_coordinate(dim, rank),
            Peer::Tfjs => tfjs_coordinate(dim, rank),
            Peer::Burn => burn_coordinate(rank - 1 - dim),
        };
    }
    let main_code = match peer {
        Peer::OnnxRuntime => {
            let mut code = "    var rest = id;\n".to_owned() + &body + "    var carry = 0u;\n";
            for dim in (0..rank).rev() {
                code += &onnx_runtime_source(dim);
            }
            code + &format!("    dest[id] = source[{}];\n", sum_expression("s", rank))
        }
        Peer::Tfjs => format!(
            "    var rest = i32(id);\n{body}    dest[id] = source[u32({})];\n",
            (0..rank)
                .map(|d| format!(
                    "(c{d} * u.steps[{d}] + i32(u.starts[{d}])) * i32(u.in_strides[{d}])"
                ))
                .collect::<Vec<_>>()
                .join(" + ")
        ),
        Peer::Burn => {
            format!("    var rest = id;\n    var at = 0u;\n{body}    dest[id] = source[at];\n")
        }
    };
    let steps = dims.iter().map(|dim| match peer {
        // ONNX Runtime's kernel reads the signs of the steps from `u.head`.
        Peer::OnnxRuntime => dim.step.abs(),
        _ => dim.step,
    });
    let signs = dims
        .iter()
        .zip(0..)
        .map(|(dim, i)| i64::from(dim.step < 0) << i)
        .sum::<i64>();
    let invocations: usize = output_shape.iter().product();
    let element_bytes = if is_vectorised { 16 } else { 4 };
    Some(Launch {
        source: assemble_shader(peer, element, "", &main_code),
        workgroup: peer.workgroup_size(),
        invocations,
        uniforms: vec![
            to_four_words([i64::try_from(invocations).unwrap_or_default(), signs]),
            to_four_numbers(&output_shape),
            to_four_numbers(&row_major_strides(&output_shape)),
            to_four_numbers(&input_shape),
            to_four_numbers(&row_major_strides(&input_shape)),
            to_four_words(starts.iter().copied()),
            to_four_words(steps),
        ],
        input_bytes: input_shape.iter().product::<usize>() * element_bytes,
        output_bytes: invocations * element_bytes,
        indices: None,
    })
}

fn onnx_runtime_source(dim: usize) -> String {
    format!(
        "    var s{dim} = c{dim} * u32(u.steps[{dim}]) + u.starts[{dim}] + carry;\n    \
         carry = s{dim} / u.in_shape[{dim}];\n    \
         s{dim} = s{dim} % u.in_shape[{dim}];\n    \
         if (u.head.y >> {dim}u & 1u) == 1u {{\n        \
         s{dim} = u.in_shape[{dim}] - s{dim} - 1u + u.starts[{dim}];\n    }}\n"
    )
}

fn burn_coordinate(dim: usize) -> String {
    format!(
        "    {{\n        let quotient = rest / u.out_shape[{dim}];\n        \
         let local_at = rest % u.out_shape[{dim}];\n        rest = quotient;\n        \
         let step = u.steps[{dim}];\n        var index = u.starts[{dim}];\n        \
         if step > 0 {{\n            index += local_at * u32(step);\n        }} else {{\n            \
         index -= local_at * u32(-step);\n        }}\n        \
         at += index * u.in_strides[{dim}];\n    }}\n"
    )
}

fn sum_expression(name: &str, rank: usize) -> String {
    let term = |dim| format!("{name}{dim} * u.in_strides[{dim}]");
    (0..rank).map(term).collect::<Vec<_>>().join(" + ")
}

/// The positions that a slice selects along a dimension: `count` positions from `start` on, `step` apart, and before
/// `stop`.
struct Dim {
    start: i64,
    stop: i64,
    step: i64,
    count: usize,
}

/// Finds the positions that Python's start, stop and step select. Unlike Python, this function does not clamp start and
/// stop, so both must be within the dimension.
fn resolve_bounds(size: usize, &[start, stop, step]: &Bounds) -> Dim {
    let (size, step) = (i64::try_from(size).unwrap_or_default(), step.unwrap_or(1));
    let (first, end) = if step > 0 { (0, size) } else { (size - 1, -1) };
    let from_end = |at: i64| if at < 0 { at + size } else { at };
    let (start, stop) = (start.map_or(first, from_end), stop.map_or(end, from_end));
    let count = (stop - start + step - step.signum()) / step;
    Dim {
        start,
        stop,
        step,
        count: usize::try_from(count).unwrap_or_default(),
    }
}
