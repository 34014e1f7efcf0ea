//! Writes kernels for gathers by index tuples, modelled on the kernels of peers, which are other projects.

use super::{
    Launch, Peer, assemble_shader, onnx_runtime_coordinate, row_major_strides, tfjs_coordinate,
    to_four_numbers,
};
use crate::cases::HashedIndices;
use std::fmt::Write as _;

/// Returns the dispatch of a gather by `rows` index tuples with `depth` indices each, or `None` if the peer has no
/// kernel for this depth.
pub(crate) fn gather_launch(
    peer: Peer,
    shape: &[usize],
    [rows, depth]: [usize; 2],
) -> Option<Launch> {
    let inner_shape = &shape[depth..];
    let run: usize = inner_shape.iter().product();
    let mut body = String::new();
    let indices_binding = "@group(0) @binding(3) var<storage, read> indices: array<i32>;\n";
    // The shape of the result, from which the kernel computes coordinates.
    let out_shape = match peer {
        // burn gathers along one axis only.
        Peer::Burn if depth > 1 => return None,
        Peer::Tfjs => vec![rows, run],
        Peer::OnnxRuntime | Peer::Burn => [&[rows], inner_shape].concat(),
    };
    match peer {
        Peer::OnnxRuntime => {
            body += "    var rest = id;\n";
            for dim in 0..out_shape.len() {
                body += &onnx_runtime_coordinate(dim, out_shape.len());
            }
            body += "    var at = 0u;\n";
            for dim in 0..depth {
                let _ = write!(
                    body,
                    "    var i{dim} = indices[c0 * {depth}u + {dim}u];\n    \
                     if i{dim} < 0 {{\n        i{dim} += i32(u.in_shape[{dim}]);\n    }}\n    \
                     at += u32(i{dim}) * u.in_strides[{dim}];\n"
                );
            }
            for dim in depth..shape.len() {
                let out_dim = dim - depth + 1;
                let _ = writeln!(body, "    at += c{out_dim} * u.in_strides[{dim}];");
            }
            body += "    dest[id] = source[at];\n";
        }
        Peer::Tfjs => {
            // The loop reads its number of iterations from `u.head`, because the depth is not a constant in the kernel
            // of tfjs.
            body += "    var rest = i32(id);\n";
            body += &tfjs_coordinate(0, 2);
            body += &tfjs_coordinate(1, 2);
            let _ = write!(
                body,
                "    var row = 0;\n    for (var j = 0; j < i32(u.head.y); j = j + 1) {{\n        \
                 let index = i32(round(f32(indices[c0 * i32(u.head.y) + j])));\n        \
                 row = row + index * u.steps[j];\n    }}\n    \
                 dest[id] = source[u32(row * i32(u.out_strides[0]) + c1)];\n"
            );
        }
        Peer::Burn => {
            body += "    var rest = id;\n    var at = 0u;\n";
            for dim in (0..out_shape.len()).rev() {
                let index_code = if dim == 0 {
                    "u32(indices[local_at])"
                } else {
                    "local_at"
                };
                let _ = write!(
                    body,
                    "    {{\n        let quotient = rest / u.out_shape[{dim}];\n        \
                     let local_at = rest % u.out_shape[{dim}];\n        rest = quotient;\n        \
                     at += {index_code} * u.in_strides[{dim}];\n    }}\n"
                );
            }
            body += "    dest[id] = source[at];\n";
        }
    }
    let invocations = rows * run;
    let tuple_strides = row_major_strides(&shape[..depth]);
    Some(Launch {
        source: assemble_shader(peer, "f32", indices_binding, &body),
        workgroup: peer.workgroup_size(),
        invocations,
        uniforms: vec![
            to_four_numbers(&[invocations, depth]),
            to_four_numbers(&out_shape),
            to_four_numbers(&row_major_strides(&out_shape)),
            to_four_numbers(shape),
            to_four_numbers(&row_major_strides(shape)),
            [0; 4],
            to_four_numbers(&tuple_strides),
        ],
        input_bytes: shape.iter().product::<usize>() * 4,
        output_bytes: invocations * 4,
        indices: Some(HashedIndices {
            rows,
            sizes: shape[..depth].to_vec(),
            is_64_bit: false,
            is_unique: false,
        }),
    })
}
