//! Runs the workgroups of a dispatch in sequence. Each invocation of a workgroup is assigned to a *lane*. The lanes run
//! in lockstep: they take one step of the program together. The two sides of a branch run in sequence, each with the
//! lanes of the other side masked out. A loop runs until the last lane has left it.
//!
//! Lane `n` is invocation `n` of the workgroup, unless [`Options::shuffle`] is set. With this option, the invocations
//! are assigned to the lanes in random order. Each step goes through the lanes in ascending order, and so through the
//! invocations in random order.
//!
//! | file | content |
//! |---|---|
//! | `value` | how values are stored |
//! | `arithmetic` | the results of operators on scalars |
//! | `expression` | the values of expressions |
//! | `variable` | the content of variables |
//! | `flow` | control flow |
//! | `pointer` | the targets of pointers |
//! | `access`, `atomic` | loads, stores and atomic operations, and their faults |
//! | `order` | the order of workgroups and invocations |
//! | `support` | which shaders can be run |

mod access;
mod arithmetic;
mod atomic;
mod expression;
mod flow;
mod order;
mod pointer;
mod support;
mod value;
mod variable;

pub(crate) use order::Random;
pub(crate) use support::check_supported;

use crate::{
    Access, Fault, Options, Wrong,
    counts::DispatchCounter,
    memory::{Invocation, Memory},
};
use naga::{
    AddressSpace, BuiltIn, EntryPoint, Expression, Function, GlobalVariable, Handle, Module,
    TypeInner,
    proc::Layouter,
    valid::{FunctionInfo, ModuleInfo},
};
use std::collections::HashMap;
use value::{Data, Location, Pointer, Value};
use variable::PrivateVariable;

/// A module with all its overrides replaced by values.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) module: Module,
    pub(crate) info: ModuleInfo,
    pub(crate) layouter: Layouter,
    /// The index of the entry point in the module.
    pub(crate) entry_index: usize,
    pub(crate) source: String,
    pub(crate) label: String,
    pub(crate) zeroes_workgroup_memory: bool,
}

impl Program {
    pub(crate) fn entry_point(&self) -> &EntryPoint {
        &self.module.entry_points[self.entry_index]
    }

    /// Returns the size in bytes of the workgroup memory that the entry point uses. By WebGPU's rule, each variable
    /// takes a multiple of 16 bytes.
    pub(crate) fn workgroup_bytes(&self) -> u64 {
        let global_uses = self.info.get_entry_point(self.entry_index);
        let variables = self.module.global_variables.iter();
        let variables = variables.filter(|(handle, variable)| {
            variable.space == AddressSpace::WorkGroup && !global_uses[*handle].is_empty()
        });
        let sizes = variables.map(|(_, variable)| self.layouter[variable.ty].size);
        sizes.map(|size| u64::from(size).next_multiple_of(16)).sum()
    }
}

/// The part of a memory to which a global variable is bound. Offset and size are in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BoundMemory {
    /// The index of the memory in [`Machine::memories`].
    pub(crate) memory_index: usize,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    /// True if the variable is storage that the shader declares as `read_write`.
    pub(crate) is_writable: bool,
}

/// The state of a dispatch that is running.
#[derive(Debug)]
pub(crate) struct Machine<'a> {
    pub(crate) program: &'a Program,
    pub(crate) options: &'a Options,
    pub(crate) memories: Vec<&'a mut Memory>,
    /// The part of a memory to which each global variable is bound, by the variable's number. `None` for private
    /// variables, and for variables in workgroup memory.
    pub(crate) bound: Vec<Option<BoundMemory>>,
    pub(crate) counter: Option<DispatchCounter>,
    pub(crate) faults: Vec<Fault>,
    /// A number that identifies the dispatch, so that memories can distinguish the accesses of different dispatches.
    pub(crate) dispatch_number: u64,
    pub(crate) workgroup_counts: [u32; 3],
    lane_count: usize,
    workgroup_id: [u32; 3],
    /// The number of each lane's invocation in the workgroup.
    invocation_numbers: Vec<u32>,
    /// Decides the order of the invocations. `None` for ascending order.
    random: Option<Random>,
    /// The number of barriers for buffers that the workgroup has passed.
    storage_phase: u32,
    /// The number of barriers for workgroup memory that the workgroup has passed.
    workgroup_phase: u32,
    /// The private variables, then the local variables of all functions whose calls have not returned.
    stack: Vec<PrivateVariable>,
    /// The index on the stack of each private variable.
    private_slots: HashMap<Handle<GlobalVariable>, usize>,
    workgroup_memories: HashMap<Handle<GlobalVariable>, Memory>,
}

/// The state of a call of a function.
struct CallFrame<'a> {
    function: &'a Function,
    info: &'a FunctionInfo,
    values: Vec<Option<Value>>,
    arguments: Vec<Value>,
    /// The index on the stack of the function's first local variable.
    first_local: usize,
    result: Option<Data>,
}

type Mask = Vec<bool>;

impl<'a> Machine<'a> {
    pub(crate) fn new(
        program: &'a Program,
        options: &'a Options,
        memories: Vec<&'a mut Memory>,
        bound: Vec<Option<BoundMemory>>,
        (dispatch_number, workgroup_counts): (u64, [u32; 3]),
    ) -> Self {
        let invocation_count = program.entry_point().workgroup_size.iter().product::<u32>();
        let lane_count = invocation_count as usize;
        Self {
            program,
            options,
            memories,
            bound,
            counter: options.counting.map(DispatchCounter::new),
            faults: Vec::new(),
            dispatch_number,
            workgroup_counts,
            lane_count,
            workgroup_id: [0; 3],
            invocation_numbers: (0..invocation_count).collect(),
            random: None,
            storage_phase: 0,
            workgroup_phase: 0,
            stack: Vec::new(),
            private_slots: HashMap::new(),
            workgroup_memories: HashMap::new(),
        }
    }

    /// Runs a workgroup. `random` decides the order of its invocations; `None` means ascending order.
    pub(crate) fn run(&mut self, workgroup_id: [u32; 3], random: Option<Random>) {
        let program = self.program;
        let (module, entry) = (&program.module, program.entry_point());
        self.workgroup_id = workgroup_id;
        (self.storage_phase, self.workgroup_phase) = (0, 0);
        self.stack.clear();
        self.private_slots.clear();
        self.workgroup_memories.clear();
        self.random = random;
        if let Some(random) = &mut self.random {
            random.shuffle(&mut self.invocation_numbers);
        }
        for (handle, variable) in module.global_variables.iter() {
            match variable.space {
                AddressSpace::WorkGroup => {
                    let bytes = program.layouter[variable.ty].size.into();
                    let mut memory = Memory::new(bytes);
                    if program.zeroes_workgroup_memory {
                        memory.write(
                            0,
                            &vec![0; usize::try_from(bytes).expect("workgroup memory")],
                        );
                    }
                    self.workgroup_memories.insert(handle, memory);
                }
                AddressSpace::Private => {
                    self.private_slots.insert(handle, self.stack.len());
                    let data = match variable.init {
                        Some(init) => self.constant_value(init),
                        None => Data::uniform(vec![0; self.component_count(variable.ty)]),
                    };
                    self.stack
                        .push(PrivateVariable::new(&data, self.lane_count));
                }
                _ => {}
            }
        }
        let arguments = entry.function.arguments.iter();
        let arguments = arguments.map(|argument| {
            Value::Data(self.entry_argument(argument.ty, argument.binding.as_ref()))
        });
        let arguments: Vec<_> = arguments.collect();
        let info = program.info.get_entry_point(program.entry_index);
        for part in self.split_into_parts() {
            self.call_function(&entry.function, info, arguments.clone(), &part);
        }
        if let Some(counter) = &mut self.counter {
            counter.end_workgroup();
        }
    }

    /// Returns masks of the parts of the workgroup that run in sequence. In ascending order there is one part with all
    /// lanes. In random order about half of the workgroups have two parts, unless the shader has barriers: all lanes
    /// must reach a barrier together.
    fn split_into_parts(&mut self) -> Vec<Mask> {
        let lane_count = self.lane_count;
        let module = &self.program.module;
        let mut random = self.random.as_mut();
        let random = random.take_if(|random| random.random_bool() && !order::has_barriers(module));
        let split_lane = random.map_or(0, |random| random.number_below(lane_count));
        let masks = [0..split_lane, split_lane..lane_count]
            .map(|part| (0..lane_count).map(|lane| part.contains(&lane)).collect());
        masks
            .into_iter()
            .filter(|mask: &Mask| mask.contains(&true))
            .collect()
    }

    /// Returns the value of an argument of the entry point, or of a member of such an argument.
    fn entry_argument(&self, ty: Handle<naga::Type>, binding: Option<&naga::Binding>) -> Data {
        match (binding, &self.program.module.types[ty].inner) {
            (Some(naga::Binding::BuiltIn(built_in)), _) => self.built_in_data(*built_in),
            (_, TypeInner::Struct { members, .. }) => {
                let parts: Vec<_> = members
                    .iter()
                    .map(|member| self.entry_argument(member.ty, member.binding.as_ref()))
                    .collect();
                Data::concat(&parts, self.lane_count)
            }
            _ => unreachable!("naga accepts no other argument of a compute shader"),
        }
    }

    fn built_in_data(&self, built_in: BuiltIn) -> Data {
        let [x, y, _] = self.program.entry_point().workgroup_size;
        let size = self.program.entry_point().workgroup_size;
        let local_id = |number: u32| [number % x, number / x % y, number / (x * y)];
        let invocations = || self.invocation_numbers.iter().copied();
        let varying_vector = |component_of: &dyn Fn(usize, u32) -> u32| {
            let words = (0..3).flat_map(|c| invocations().map(move |number| (c, number)));
            Data::varying(
                words
                    .map(|(c, number)| i64::from(component_of(c, number)))
                    .collect::<Vec<_>>(),
            )
        };
        let uniform_vector = |values: [u32; 3]| Data::uniform(values.map(i64::from).to_vec());
        match built_in {
            BuiltIn::WorkGroupId => uniform_vector(self.workgroup_id),
            BuiltIn::NumWorkGroups => uniform_vector(self.workgroup_counts),
            BuiltIn::LocalInvocationId => varying_vector(&|c, number| local_id(number)[c]),
            BuiltIn::GlobalInvocationId => {
                varying_vector(&|c, number| self.workgroup_id[c] * size[c] + local_id(number)[c])
            }
            BuiltIn::LocalInvocationIndex => {
                Data::varying(invocations().map(i64::from).collect::<Vec<_>>())
            }
            other => unreachable!("a shader with {other:?} is not supported"),
        }
    }

    /// Records a fault, attributed to the first active lane.
    fn record_fault(
        &mut self,
        wrong: Wrong,
        variable: &str,
        mask: &[bool],
        expression: Option<(&Function, Handle<Expression>)>,
    ) {
        let lane = mask.iter().position(|&is_active| is_active).unwrap_or(0);
        self.record_lane_fault(lane, wrong, variable, expression);
    }

    fn record_lane_fault(
        &mut self,
        lane: usize,
        wrong: Wrong,
        variable: &str,
        expression: Option<(&Function, Handle<Expression>)>,
    ) {
        let program = self.program;
        let line = expression.and_then(|(function, handle)| {
            let span = function.expressions.get_span(handle);
            if !span.is_defined() {
                return None;
            }
            let line_number = span.location(&program.source).line_number;
            let line = program
                .source
                .lines()
                .nth(line_number.checked_sub(1)? as usize)?;
            Some((line_number, line.to_owned()))
        });
        // If a line has several faults of one kind, only the first is kept, because a faulty line often faults in many
        // lanes and iterations.
        let kind = std::mem::discriminant(&wrong);
        let is_duplicate =
            |fault: &Fault| fault.line == line && std::mem::discriminant(&fault.wrong) == kind;
        if self.faults.iter().any(is_duplicate) {
            return;
        }
        self.faults.push(Fault {
            wrong,
            pipeline: program.label.clone(),
            variable: variable.to_owned(),
            workgroup: self.workgroup_id,
            invocation: self.invocation_numbers[lane] as usize,
            line,
        });
    }

    /// Returns the invocation of a lane, for an access to workgroup memory or to a buffer. Its phase counts the
    /// barriers for this memory.
    fn invocation_of_lane(&self, lane: usize, is_workgroup_memory: bool) -> Invocation {
        let [x, y, z] = self.workgroup_id;
        let group = (z * self.workgroup_counts[1] + y) * self.workgroup_counts[0] + x;
        let local = self.invocation_numbers[lane];
        let phase = if is_workgroup_memory {
            self.workgroup_phase
        } else {
            self.storage_phase
        };
        Invocation {
            group,
            local,
            phase,
        }
    }

    /// Returns the number of scalars in a value of a type.
    fn component_count(&self, ty: Handle<naga::Type>) -> usize {
        pointer::component_count(&self.program.module, &self.program.module.types[ty].inner)
    }
}

/// Returns a variable's name for messages.
fn name_of(variable: &GlobalVariable) -> &str {
    variable.name.as_deref().unwrap_or("unnamed")
}

/// Returns a pointer to a whole variable.
fn pointer_to(place: Location) -> Value {
    Value::Pointer(Pointer {
        place,
        at: Data::uniform(vec![0]),
    })
}

/// The kind of an access that only reads.
const READ: Access = Access::Read;
