//! Records copies from texels to a tensor and back, through scratch memory with padded rows.

use super::{Texels, rows::TexelRows};
use crate::{
    Conversion, DType, Error, View, error,
    gpu::{
        DeviceBytes, Gpu,
        device::caps::BufferParts,
        engine::{
            argument::Argument,
            commands::{Commands, Target, check_conversion},
            report::ReportSlots,
        },
    },
    moves::Move,
};
use wgpu::{
    BufferSlice, BufferUsages, CommandEncoder, Extent3d, Origin3d, TexelCopyBufferInfo,
    TexelCopyBufferLayout, TexelCopyTextureInfo, TextureUsages,
};

impl Gpu {
    /// Records a copy of the selected texels to `dest`, as a row-major array without padding, with the shape and the
    /// element type of `texels`.
    ///
    /// The commands copy the smallest box around the selection to scratch memory, in the padded rows that wgpu
    /// requires. Usually one dispatch then moves the selection to `dest`. The scratch memory is kept for later
    /// recordings, until [`Gpu::trim`]. If the selection is a whole box in the texture's order and its rows need no
    /// padding, the box can be copied directly to `dest`. This requires that `dest` has the usage `COPY_DST` and begins
    /// at a multiple of 16 bytes.
    ///
    /// The texture must belong to this device and have the usage `COPY_SRC`. `dest` must meet the requirements of
    /// [`Gpu::encode`]. The encoder must not have an open pass. The texels are read when the command runs, in the order
    /// of submissions. [`Texels`] has an example.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`]; the errors of [`Gpu::encode`]; [`Error::DeviceLimit`] if even a single row of the box does
    /// not fit in a buffer; [`Error::OutOfDeviceMemory`].
    pub fn encode_from_texture(
        &self,
        encoder: &mut CommandEncoder,
        texels: &Texels,
        dest: BufferSlice<'_>,
    ) -> Result<(), Error> {
        let dest = Argument::passed_buffer("dest", dest, texels.tensor_bytes());
        self.record_from_texture(encoder, texels, dest)
    }

    /// Records a copy of `source`, a row-major array with the shape and the element type of `texels`, to the selected
    /// texels. All other texels, and channels that are not selected, keep their values.
    ///
    /// The texture needs the usage `COPY_DST`. If the selection lacks a part of the box that contains it, such as a
    /// channel or every second row, the box is read first; the texture then also needs `COPY_SRC`. `source` must meet
    /// the requirements of [`Gpu::encode`]. Everything else is the same as for [`Gpu::encode_from_texture`].
    ///
    /// ```no_run
    /// # fn example(gpu: &wgslice::Gpu, mask: &wgpu::Buffer, overlay: &wgpu::Texture) -> Result<(), wgslice::Error> {
    /// use wgslice::{gpu::Texels, slice};
    ///
    /// // A mask of [height, width] becomes the alpha of Rgba8Unorm.
    /// let alpha = Texels::new(overlay)?.slice(&slice![0, .., .., 3])?;
    /// let mut encoder = gpu.device().create_command_encoder(&Default::default());
    /// gpu.encode_to_texture(&mut encoder, mask.slice(..), &alpha)?;
    /// gpu.queue().submit([encoder.finish()]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Gpu::encode_from_texture`].
    pub fn encode_to_texture(
        &self,
        encoder: &mut CommandEncoder,
        source: BufferSlice<'_>,
        texels: &Texels,
    ) -> Result<(), Error> {
        let source = Argument::passed_buffer("source", source, texels.tensor_bytes());
        self.record_to_texture(encoder, source, &View::whole(texels.shape()), texels)
    }

    /// Returns the moves between rows of texels and a tensor, in the directions that the texture's usages allow. Also
    /// allocates the memory of the rows.
    pub(in crate::gpu) fn texel_moves(&self, texels: &Texels) -> Result<Vec<Move>, Error> {
        let usage = texels.texture.usage();
        let Some(rows) = TexelRows::from_texels(texels)? else {
            return Ok(Vec::new());
        };
        self.engine.texel_memory(rows.pitch, rows.row_count())?;
        let mut moves = Vec::new();
        if let Ok(conversion) = texels.conversion_read()
            && usage.contains(TextureUsages::COPY_SRC)
        {
            moves.extend(rows.reading_moves(conversion)?.0);
        }
        if let Ok(conversion) = texels.conversion_written()
            && usage.contains(TextureUsages::COPY_DST)
        {
            let view = View::whole(texels.shape());
            moves.extend(conversion_before_write(&view, conversion)?);
            moves.extend(rows.writing_moves(&view)?.0);
        }
        Ok(moves)
    }

    /// Copies texels to a new tensor.
    pub(crate) fn read_texture(&self, texels: &Texels) -> Result<DeviceBytes, Error> {
        let dest = self
            .open_device()
            .allocate_array(texels.shape(), texels.dtype().size())?;
        self.open_device()
            .record_and_submit("reading a texture", |encoder| {
                self.record_from_texture(encoder, texels, Argument::from_tensor("dest", &dest))
            })?;
        Ok(dest)
    }

    /// Copies a view of a tensor to texels.
    pub(crate) fn write_texture(
        &self,
        source: &DeviceBytes,
        view: &View,
        texels: &Texels,
    ) -> Result<(), Error> {
        let source = Argument::from_tensor("source", source);
        let record = |encoder: &mut _| self.record_to_texture(encoder, source, view, texels);
        self.open_device()
            .record_and_submit("writing to a texture", record)
            .map(drop)
    }

    fn record_from_texture(
        &self,
        encoder: &mut CommandEncoder,
        texels: &Texels,
        dest: Argument<'_>,
    ) -> Result<(), Error> {
        texels.check_readable(self.adapter_info().backend, "reading it")?;
        let conversion = texels.conversion_read()?;
        let Some(rows) = TexelRows::from_texels(texels)? else {
            return Ok(());
        };
        if conversion.is_none() && rows.is_tensor() && is_direct(&dest, BufferUsages::COPY_DST) {
            dest.check_length()?;
            copy_from_texture(encoder, box_copies(texels, &rows, &dest));
            return Ok(());
        }
        let memory = self.engine.texel_memory(rows.pitch, rows.row_count())?;
        let source = memory.argument();
        source.check_sizes(&dest)?;
        let (moves, channels) = rows.reading_moves(conversion)?;
        let channels = self.channel_indices(channels)?;
        let move_commands =
            self.choose_commands(texels, &moves, &with_channels(source, dest, &channels))?;
        copy_from_texture(encoder, box_copies(texels, &rows, &source));
        self.record_commands(encoder, &move_commands);
        Ok(())
    }

    /// Chooses the commands of all moves before any is recorded, so that a failure leaves the encoder unchanged.
    fn choose_commands<'a>(
        &self,
        texels: &Texels,
        moves: &[Move],
        arguments: &[Argument<'a>],
    ) -> Result<Vec<Commands<'a>>, Error> {
        let ready_works = self.engine.ready_works(&texels.works, 0);
        let choose_for_move = |step_move: &Move| {
            check_conversion(step_move, &arguments[0], &arguments[1])?;
            self.engine
                .choose_commands(step_move, ready_works, arguments, true)
        };
        moves.iter().map(choose_for_move).collect()
    }

    fn record_commands(&self, encoder: &mut CommandEncoder, move_commands: &[Commands<'_>]) {
        for commands in move_commands {
            // All channels exist, so the report is always empty and is not read.
            let report_slots = &mut ReportSlots::default();
            self.engine
                .record_commands(&mut Target::Encoder(encoder), commands, report_slots);
        }
    }

    /// Uploads the numbers of the selected channels as indices, if the selection needs a gather.
    fn channel_indices(&self, channels: Option<&[usize]>) -> Result<Option<DeviceBytes>, Error> {
        let Some(channels) = channels else {
            return Ok(None);
        };
        let channels: Vec<u32> = channels.iter().map(|&channel| to_u32(channel)).collect();
        let bytes = bytemuck::cast_slice(&channels);
        let indices = self
            .open_device()
            .upload_slice_of(&Move::copy(bytes.len()), bytes)?;
        // The caller can submit the commands after other work. Exposed buffers are never reused, so no tensor
        // overwrites them.
        indices.expose_buffers();
        Ok(Some(indices))
    }

    /// Records a copy of a view of `source` to texels of the same shape.
    fn record_to_texture(
        &self,
        encoder: &mut CommandEncoder,
        source: Argument<'_>,
        view: &View,
        texels: &Texels,
    ) -> Result<(), Error> {
        if view.shape() != texels.shape() {
            return Err(error::texture::wrong_shape(view.shape(), texels.shape()));
        }
        texels.check_usage(TextureUsages::COPY_DST, "writing to it")?;
        let conversion = texels.conversion_written()?;
        let Some(rows) = TexelRows::from_texels(texels)? else {
            return Ok(());
        };
        let (mut source, mut view, mut conversion_commands) = (source, view, Vec::new());
        let (memory, whole_view);
        if let Some(step_move) = conversion_before_write(view, conversion)? {
            let bytes = step_move.result_bytes();
            memory = self.engine.scratch_buffer(bytes as u64)?;
            let stored_rows = Argument::own_memory("scratch", memory.slice(..), bytes);
            conversion_commands =
                self.choose_commands(texels, &[step_move], &[source, stored_rows])?;
            whole_view = View::whole(texels.shape());
            (source, view) = (stored_rows, &whole_view);
        }
        let is_whole = *view == View::whole(view.source_shape());
        if is_whole && rows.is_tensor() && is_direct(&source, BufferUsages::COPY_SRC) {
            source.check_length()?;
            self.record_commands(encoder, &conversion_commands);
            copy_to_texture(encoder, box_copies(texels, &rows, &source));
            return Ok(());
        }
        if !rows.is_whole {
            let use_of_texels =
                "writing to some of its channels, or to texels with others between them,";
            texels.check_readable(self.adapter_info().backend, use_of_texels)?;
        }
        let memory = self.engine.texel_memory(rows.pitch, rows.row_count())?;
        let dest = memory.argument();
        source.check_sizes(&dest)?;
        let (moves, channels) = rows.writing_moves(view)?;
        let channels = self.channel_indices(channels.as_deref())?;
        let move_commands =
            self.choose_commands(texels, &moves, &with_channels(source, dest, &channels))?;
        self.record_commands(encoder, &conversion_commands);
        if !rows.is_whole {
            copy_from_texture(encoder, box_copies(texels, &rows, &dest));
        }
        self.record_commands(encoder, &move_commands);
        copy_to_texture(encoder, box_copies(texels, &rows, &dest));
        Ok(())
    }
}

/// Returns the arguments of a move: source, destination and, if it gathers channels, the indices.
fn with_channels<'a>(
    source: Argument<'a>,
    dest: Argument<'a>,
    channels: &'a Option<DeviceBytes>,
) -> Vec<Argument<'a>> {
    let indices = channels.iter();
    let indices = indices.map(|bytes| Argument::from_tensor("channels", bytes));
    [source, dest].into_iter().chain(indices).collect()
}

/// Returns the move that converts a view of a tensor before it is written, or `None` if the elements are not converted.
fn conversion_before_write(
    view: &View,
    conversion: Option<(DType, &Conversion)>,
) -> Result<Option<Move>, Error> {
    let Some((dtype, conversion)) = conversion else {
        return Ok(None);
    };
    let copy = Move::from_view(view.clone(), dtype).converted(conversion)?;
    Ok(Some(copy).filter(|copy| copy.conversion.is_some()))
}

/// Returns whether texels can be copied directly to or from an argument whose rows need no padding.
fn is_direct(argument: &Argument<'_>, usage: BufferUsages) -> bool {
    match argument.buffers {
        // wgpu requires the offset to be a multiple of the size of a texel, which is at most 16 bytes.
        [buffer] => argument.parts.offset.is_multiple_of(16) && buffer.usage().contains(usage),
        _ => false,
    }
}

/// A copy between a box of a texture and a buffer: the origin in the texture, the place in the buffer, and the size.
type BoxCopy<'a> = (TexelCopyTextureInfo<'a>, TexelCopyBufferInfo<'a>, Extent3d);

fn copy_from_texture(encoder: &mut CommandEncoder, copies: Vec<BoxCopy<'_>>) {
    for (texture, buffer, size) in copies {
        encoder.copy_texture_to_buffer(texture, buffer, size);
    }
}

fn copy_to_texture(encoder: &mut CommandEncoder, copies: Vec<BoxCopy<'_>>) {
    for (texture, buffer, size) in copies {
        encoder.copy_buffer_to_texture(buffer, texture, size);
    }
}

/// Returns the copies between the box and an argument that contains its rows, including padding. Consecutive whole
/// layers in a buffer are copied together.
fn box_copies<'a>(
    texels: &'a Texels,
    rows: &TexelRows,
    argument: &Argument<'a>,
) -> Vec<BoxCopy<'a>> {
    let [layers, height, width] = rows.size;
    let BufferParts { offset, bytes } = argument.parts;
    // All buffers except the last consist of whole rows.
    let max_rows = usize::try_from(bytes / rows.pitch as u64).unwrap_or(usize::MAX);
    let mut copies = Vec::new();
    let mut row = 0;
    for buffer in argument.buffers {
        let first_row = row;
        let end = (layers * height).min(max_rows.saturating_add(first_row));
        while row < end {
            let (layer, y) = (row / height, row % height);
            let (depth, copied_height) = match (end - row) / height {
                depth @ 1.. if y == 0 => (depth, height),
                _ => (1, (end - row).min(height - y)),
            };
            copies.push((
                TexelCopyTextureInfo {
                    texture: &texels.texture,
                    mip_level: texels.mip_level,
                    origin: Origin3d {
                        x: to_u32(rows.origin[2]),
                        y: to_u32(rows.origin[1] + y),
                        z: to_u32(rows.origin[0] + layer),
                    },
                    aspect: wgpu::TextureAspect::All,
                },
                TexelCopyBufferInfo {
                    buffer,
                    layout: TexelCopyBufferLayout {
                        offset: offset + ((row - first_row) * rows.pitch) as u64,
                        bytes_per_row: Some(to_u32(rows.pitch)),
                        rows_per_image: Some(to_u32(height)),
                    },
                },
                Extent3d {
                    width: to_u32(width),
                    height: to_u32(copied_height),
                    depth_or_array_layers: to_u32(depth),
                },
            ));
            row += depth * copied_height;
        }
    }
    copies
}

/// Converts a position or a size in a texture, or the size of a row in a buffer. wgpu keeps all of these below 2^32.
fn to_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
