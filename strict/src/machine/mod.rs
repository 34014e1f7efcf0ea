//! Runs the workgroups of a dispatch, one after the other, each in lockstep: all its invocations take one step
//! of the program together, both sides of a branch one after the other with the others masked out, and a loop
//! until its last invocation has left.
//!
//! | file | decides |
//! |---|---|
//! | `value` | what values are |
//! | `arithmetic` | what operators make of scalars |
//! | `expression` | what an expression stands for |
//! | `variable` | what variables hold |
//! | `flow` | how a program goes on |
//! | `pointer` | where pointers lead |
//! | `access`, `atomic` | what is read and written, and what is wrong with that |
//! | `support` | which shaders can be run |

mod access;
mod arithmetic;
mod atomic;
mod expression;
mod flow;
mod pointer;
mod support;
mod value;
mod variable;

pub(crate) use support::check as check_supported;

use crate::{
    Access, Fault, Options, Wrong,
    counts::Counter,
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
use variable::Variable;

/// A module with all its overrides replaced by values.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) module: Module,
    pub(crate) info: ModuleInfo,
    pub(crate) layouter: Layouter,
    pub(crate) entry: usize,
    pub(crate) source: String,
    pub(crate) label: String,
    pub(crate) zeroes_workgroups: bool,
}

impl Program {
    pub(crate) fn entry_point(&self) -> &EntryPoint {
        &self.module.entry_points[self.entry]
    }
}

/// What a global variable is bound to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound {
    /// Which of the dispatch's memories.
    pub(crate) memory: usize,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    /// Whether the dispatch may change it.
    pub(crate) writable: bool,
}

/// A dispatch under way.
#[derive(Debug)]
pub(crate) struct Machine<'a> {
    pub(crate) program: &'a Program,
    pub(crate) options: &'a Options,
    pub(crate) memories: Vec<&'a mut Memory>,
    /// By the variable's number.
    pub(crate) bound: Vec<Option<Bound>>,
    pub(crate) counter: Option<Counter>,
    pub(crate) faults: Vec<Fault>,
    /// A number that no other dispatch has.
    pub(crate) number: u64,
    pub(crate) groups: [u32; 3],
    lanes: usize,
    group: [u32; 3],
    /// Barriers that the workgroup has passed, for buffers and for its own memory.
    storage_phase: u32,
    workgroup_phase: u32,
    /// Variables of the invocations, of all functions that are being called.
    stack: Vec<Variable>,
    private: HashMap<Handle<GlobalVariable>, usize>,
    shared: HashMap<Handle<GlobalVariable>, Memory>,
}
/// A function that is being called.
struct Frame<'a> {
    function: &'a Function,
    info: &'a FunctionInfo,
    values: Vec<Option<Value>>,
    arguments: Vec<Value>,
    /// Where on the stack its variables begin.
    locals: usize,
    result: Option<Data>,
}

type Mask = Vec<bool>;

impl<'a> Machine<'a> {
    pub(crate) fn new(
        program: &'a Program,
        options: &'a Options,
        memories: Vec<&'a mut Memory>,
        bound: Vec<Option<Bound>>,
        (number, groups): (u64, [u32; 3]),
    ) -> Self {
        let lanes = program.entry_point().workgroup_size.iter().product::<u32>() as usize;
        Self {
            program,
            options,
            memories,
            bound,
            counter: options.counting.map(Counter::new),
            faults: Vec::new(),
            number,
            groups,
            lanes,
            group: [0; 3],
            storage_phase: 0,
            workgroup_phase: 0,
            stack: Vec::new(),
            private: HashMap::new(),
            shared: HashMap::new(),
        }
    }

    /// Runs a workgroup.
    pub(crate) fn run(&mut self, group: [u32; 3]) {
        let program = self.program;
        let (module, entry) = (&program.module, program.entry_point());
        self.group = group;
        (self.storage_phase, self.workgroup_phase) = (0, 0);
        self.stack.clear();
        self.private.clear();
        self.shared.clear();
        for (handle, variable) in module.global_variables.iter() {
            match variable.space {
                AddressSpace::WorkGroup => {
                    let bytes = program.layouter[variable.ty].size.into();
                    let mut memory = Memory::new(bytes);
                    if program.zeroes_workgroups {
                        memory.write(
                            0,
                            &vec![0; usize::try_from(bytes).expect("workgroup memory")],
                        );
                    }
                    self.shared.insert(handle, memory);
                }
                AddressSpace::Private => {
                    self.private.insert(handle, self.stack.len());
                    let data = match variable.init {
                        Some(init) => self.constant(init),
                        None => Data::uniform(vec![0; self.components(variable.ty)]),
                    };
                    self.stack.push(Variable::new(&data, self.lanes));
                }
                _ => {}
            }
        }
        let arguments = entry.function.arguments.iter();
        let arguments = arguments
            .map(|argument| Value::Data(self.input(argument.ty, argument.binding.as_ref())));
        let arguments = arguments.collect();
        let info = program.info.get_entry_point(program.entry);
        self.call(&entry.function, info, arguments, &vec![true; self.lanes]);
        if let Some(counter) = &mut self.counter {
            counter.end_workgroup();
        }
    }

    /// An argument of the entry point.
    fn input(&self, ty: Handle<naga::Type>, binding: Option<&naga::Binding>) -> Data {
        match (binding, &self.program.module.types[ty].inner) {
            (Some(naga::Binding::BuiltIn(built_in)), _) => self.built_in(*built_in),
            (_, TypeInner::Struct { members, .. }) => {
                let parts: Vec<_> = members
                    .iter()
                    .map(|member| self.input(member.ty, member.binding.as_ref()))
                    .collect();
                Data::concat(&parts, self.lanes)
            }
            _ => unreachable!("naga accepts no other argument of a compute shader"),
        }
    }

    fn built_in(&self, built_in: BuiltIn) -> Data {
        let [x, y, _] = self.program.entry_point().workgroup_size;
        let size = self.program.entry_point().workgroup_size;
        let local = |lane: u32| [lane % x, lane / x % y, lane / (x * y)];
        let lanes = || 0..u32::try_from(self.lanes).expect("a workgroup's invocations");
        let three = |of: &dyn Fn(usize, u32) -> u32| {
            let words = (0..3).flat_map(|c| lanes().map(move |lane| (c, lane)));
            Data::varying(
                words
                    .map(|(c, lane)| i64::from(of(c, lane)))
                    .collect::<Vec<_>>(),
            )
        };
        let numbers = |of: [u32; 3]| Data::uniform(of.map(i64::from).to_vec());
        match built_in {
            BuiltIn::WorkGroupId => numbers(self.group),
            BuiltIn::NumWorkGroups => numbers(self.groups),
            BuiltIn::LocalInvocationId => three(&|c, lane| local(lane)[c]),
            BuiltIn::GlobalInvocationId => {
                three(&|c, lane| self.group[c] * size[c] + local(lane)[c])
            }
            BuiltIn::LocalInvocationIndex => {
                Data::varying(lanes().map(i64::from).collect::<Vec<_>>())
            }
            other => unreachable!("a shader with {other:?} is not supported"),
        }
    }

    /// Notes what is wrong with the first active lane.
    fn fault(
        &mut self,
        wrong: Wrong,
        variable: &str,
        mask: &[bool],
        at: Option<(&Function, Handle<Expression>)>,
    ) {
        let lane = mask.iter().position(|&on| on).unwrap_or(0);
        self.fault_of(lane, wrong, variable, at);
    }

    fn fault_of(
        &mut self,
        lane: usize,
        wrong: Wrong,
        variable: &str,
        at: Option<(&Function, Handle<Expression>)>,
    ) {
        let program = self.program;
        let line = at.and_then(|(function, handle)| {
            let span = function.expressions.get_span(handle);
            if !span.is_defined() {
                return None;
            }
            let number = span.location(&program.source).line_number;
            let line = program
                .source
                .lines()
                .nth(number.checked_sub(1)? as usize)?;
            Some((number, line.to_owned()))
        });
        // Of one line the first fault of its kind: what is wrong once there is mostly wrong often.
        let kind = std::mem::discriminant(&wrong);
        let is_known =
            |fault: &Fault| fault.line == line && std::mem::discriminant(&fault.wrong) == kind;
        if self.faults.iter().any(is_known) {
            return;
        }
        self.faults.push(Fault {
            wrong,
            pipeline: program.label.clone(),
            variable: variable.to_owned(),
            workgroup: self.group,
            invocation: lane,
            line,
        });
    }
    /// The invocation of a lane, as memory of this kind knows it.
    fn invocation(&self, lane: usize, shared: bool) -> Invocation {
        let [x, y, z] = self.group;
        let group = (z * self.groups[1] + y) * self.groups[0] + x;
        let local = u32::try_from(lane).expect("a workgroup's invocation");
        let phase = if shared {
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

    /// Scalars that a value of a type is made of.
    fn components(&self, ty: Handle<naga::Type>) -> usize {
        pointer::components(&self.program.module, &self.program.module.types[ty].inner)
    }
}

/// A variable's name in messages.
fn named(variable: &GlobalVariable) -> &str {
    variable.name.as_deref().unwrap_or("unnamed")
}

/// What a pointer to a whole variable is.
fn pointer_to(place: Location) -> Value {
    Value::Pointer(Pointer {
        place,
        at: Data::uniform(vec![0]),
    })
}

/// What an access counts as where it is only read.
const READ: Access = Access::Read;
