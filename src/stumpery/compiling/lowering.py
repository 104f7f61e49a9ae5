"""From typed code to LLVM's, for parts: in a few steps, where Numba takes dozens.

Numba gives every variable a place in memory, lays an array's words out anew for each element, lets an index count from
the end, and asks after each call whether it failed; LLVM then finds out that nearly all of it is of no use. Here what
is set once is a value, an element of an array without gaps is where its place says, and nothing is asked after a call
that never fails. An index below 0 must stand there as a number: one that turns out to be below 0 is past the array's
end, and raises where bounds are checked.
"""

from collections import Counter, defaultdict
from functools import cached_property
from typing import Any

from llvmlite import ir as llvm  # type: ignore[import-untyped]
from numba import types
from numba.core import analysis, cgutils, ir
from numba.core.lowering import Lower
from numba.core.unsafe import eh

N_ITEMS, ITEM_SIZE, DATA, SHAPE, STRIDES = 2, 3, 4, 5, 6  # an array's words, after two that tell who holds it
PAIR = ["pair_first", "pair_second"]
SHORTER = {"getiter", "iternext", *PAIR, "getattr", "static_getitem"}  # operations with shorter ways


class _Builder(llvm.IRBuilder):  # type: ignore[misc]
    """LLVM's steps, but a word that was put into a record is taken from where it came."""

    def extract_value(self, record: Any, place: Any, name: str = "") -> Any:
        """A word of a record, or a record within it."""
        path = (place,) if isinstance(place, int) else tuple(place)
        while path and isinstance(record, llvm.instructions.InsertValue):
            inner, there = record.operands, tuple(record.indices)
            if path[: len(there)] == there:
                record, path = inner[1], path[len(there) :]
            elif there[: len(path)] == path:
                break  # asked for as a whole, and put in word by word
            else:
                record = inner[0]
        address = getattr(record, "lent_at", None)
        if address is not None and path:
            return self.load(cgutils.gep_inbounds(self, address, 0, *path))
        return super().extract_value(record, path, name) if path else record

    def place_for(self, kind: Any) -> Any:
        """Memory for one value, made where the function begins."""
        with self.goto_entry_block():
            return self.alloca(kind)


class PartLower(Lower):  # type: ignore[misc]
    """Numba's step, with shorter ways for what parts are full of."""

    def setup_function(self, descriptor: Any) -> None:
        """Begin a function."""
        super().setup_function(descriptor)
        self.builder = _Builder(self.entry_block)

    @property
    def _as_numba(self) -> bool:
        """Whether variables are left to Numba: where arrays are counted, and where a way may end within a block."""
        return bool(self.context.enable_nrt or self.func_ir.is_generator or self._tries)

    @cached_property
    def _tries(self) -> bool:
        values = (step.value for block in self.blocks.values() for step in block.find_insts(ir.Assign))
        return any(isinstance(value, ir.Global) and value.value is eh.exception_check for value in values)

    def lower(self) -> None:
        """Make LLVM's code, and note whether the function ever fails."""
        super().lower()
        ends = [block.terminator for block in self.function.blocks]
        codes = [end.operands[0] for end in ends if isinstance(end, llvm.Ret)]
        fails = any(not isinstance(code, llvm.Constant) or code.constant for code in codes)
        told_otherwise = self.func_ir.is_generator or self._tries or isinstance(self.fndesc.restype, types.Optional)
        if not fails and not told_otherwise:
            self.library.never_fails = self.fndesc

    # Variables.

    def _find_singly_assigned_variable(self) -> None:
        """Find the variables that need no memory: set once, before all uses on every way through the function."""
        if self._as_numba:
            super()._find_singly_assigned_variable()
            return
        homes: dict[str, Any] = {}
        n_set: Counter[str] = Counter()
        for label, block in self.blocks.items():
            for step in block.find_insts(ir.Assign):
                n_set[step.target.name] += 1
                homes[step.target.name] = label
        used = defaultdict(set)
        for label, names in analysis.compute_use_defs(self.blocks).usemap.items():
            for name in names:
                used[name].add(label)
        before = self.func_ir.variable_lifetime.cfg.dominators()
        self._blk_local_varmap: dict[str, Any] = {}
        self._singly_assigned_vars = {
            name
            for name, home in homes.items()
            if n_set[name] == 1 and all(home < place and home in before[place] for place in used[name])
        }

    def alloca_lltype(self, name: str, kind: Any, datamodel: Any = None) -> Any:
        """Memory for a variable; where arrays are counted, it must not hold what was there before."""
        if self._as_numba:
            return super().alloca_lltype(name, kind, datamodel)
        return self.builder.place_for(kind)

    def storevar(self, value: Any, name: str, argidx: Any = None) -> None:
        """Set a variable."""
        if self._as_numba or name in self._singly_assigned_vars:
            super().storevar(value, name, argidx)
        else:
            self._alloca_var(name, self.typeof(name))
            self.builder.store(value, self.getvar(name))

    # Calls.

    def _lower_call_normal(self, kind: Any, expression: Any, signature: Any) -> Any:
        """Call a function; one that never fails gets no place to tell its failure, and nothing is asked after it."""
        called = self.context.get_function(kind, signature) if isinstance(kind, types.Dispatcher) else None
        library = next(iter(called._imp.libs), None) if called else None
        descriptor = getattr(library, "never_fails", None)
        if descriptor is None:
            return super()._lower_call_normal(kind, expression, signature)
        values = self.fold_call_args(kind, signature, expression.args, expression.vararg, expression.kws)
        self.context.add_linking_libs([library])
        function = self.context.declare_function(self.builder.module, descriptor)
        result, trouble = (each.type for each in function.args[:2])
        given = self.context.get_arg_packer(descriptor.argtypes).as_arguments(self.builder, values)
        place = self.builder.place_for(result.pointee)
        self.builder.call(function, [place, trouble(None), *given])
        return self.context.get_returned_value(self.builder, descriptor.restype, self.builder.load(place))

    # Ranges, and shapes of arrays.

    def lower_expr(self, kind: Any, expression: Any) -> Any:
        """A value, in LLVM's code."""
        if expression.op == "call" and self._is_range(expression):
            return self._range(kind, expression)
        if expression.op in SHORTER:
            found = self._shorter(kind, expression, self.typeof(expression.value.name))
            if found is not None:
                return found
        return super().lower_expr(kind, expression)

    def _shorter(self, kind: Any, expression: Any, owner: Any) -> Any:
        """A value by a shorter way than Numba's, or None."""
        if isinstance(owner, types.RangeType) and expression.op == "getiter":
            return self._started(kind, self.loadvar(expression.value.name))
        if isinstance(owner, types.RangeIteratorType) and expression.op == "iternext":
            return self._next(kind, self.loadvar(expression.value.name))
        if isinstance(owner, types.Pair) and isinstance(kind, types.Integer | types.Boolean):
            return self.builder.extract_value(self.loadvar(expression.value.name), PAIR.index(expression.op))
        if isinstance(owner, types.Array) and expression.op == "getattr" and expression.attr == "shape":
            return self.builder.extract_value(self.loadvar(expression.value.name), SHAPE)
        if isinstance(owner, types.Array) and expression.op == "static_getitem" and expression.index_var is not None:
            found = self._indexed(expression.value, expression.index_var)
            return None if found is None else self._read(kind, *found)
        return None

    def _is_range(self, call: Any) -> bool:
        called = getattr(self.typeof(call.func.name), "typing_key", None)
        return called is range and not call.kws and not call.vararg

    def _range(self, kind: Any, expression: Any) -> Any:
        """A range: where it starts and stops, and its step."""
        signature = self.fndesc.calltypes[expression]
        given = [self._cast_var(each, wanted) for each, wanted in zip(expression.args, signature.args, strict=True)]
        number = given[0].type
        start, stop, step = {1: [number(0), *given, number(1)], 2: [*given, number(1)], 3: given}[len(given)]
        return self._record(kind, start, stop, step)

    def _started(self, kind: Any, values: Any) -> Any:
        """A range with its first number and how many there are; None where the step is not known."""
        start, stop, step = (self.builder.extract_value(values, place) for place in range(3))
        if not isinstance(step, llvm.Constant) or not step.constant:
            return None
        far = self.builder.sub(stop, start) if step.constant > 0 else self.builder.sub(start, stop)
        size = abs(step.constant)
        if size > 1:
            far = self.builder.sdiv(self.builder.add(far, far.type(size - 1)), far.type(size))
        number, count = (self.builder.place_for(start.type) for _ in range(2))
        self.builder.store(start, number)
        self.builder.store(far, count)
        return self._record(kind, number, stop, step, count)

    def _next(self, kind: Any, values: Any) -> Any:
        """The next number of a range, and whether there was one."""
        number, _, step, count = (self.builder.extract_value(values, place) for place in range(4))
        value, left = self.builder.load(number), self.builder.load(count)
        self.builder.store(self.builder.add(value, step), number)
        self.builder.store(self.builder.sub(left, left.type(1)), count)
        return self._record(kind, value, self.builder.icmp_signed(">", left, left.type(0)))

    def _record(self, kind: Any, *values: Any) -> Any:
        record = llvm.Constant(self.context.get_value_type(kind), llvm.Undefined)
        for place, value in enumerate(values):
            record = self.builder.insert_value(record, value, place)
        return record

    # Elements and rows of arrays.

    def lower_getitem(self, kind: Any, expression: Any, array: Any, index: Any, signature: Any) -> Any:
        """An element of an array, or a row of one."""
        found = self._indexed(array, index)
        if found is None:
            return super().lower_getitem(kind, expression, array, index, signature)
        return self._read(kind, *found)

    def lower_setitem(self, array: Any, index: Any, value: Any, signature: Any) -> Any:
        """Write an element of an array."""
        found = self._indexed(array, index)
        if found is None or len(found[2]) < found[0].ndim:
            return super().lower_setitem(array, index, value, signature)
        kind, whole, places = found
        element = self.context.cast(self.builder, self.loadvar(value.name), self.typeof(value.name), kind.dtype)
        return self.context.pack_value(self.builder, kind.dtype, element, self._pointer(kind, whole, places))

    def _read(self, wanted: Any, kind: Any, array: Any, places: list[Any]) -> Any:
        if len(places) < kind.ndim:
            return self._row(kind, array, places, wanted)
        element = self.context.unpack_value(self.builder, kind.dtype, self._pointer(kind, array, places))
        return self.context.cast(self.builder, element, kind.dtype, wanted)

    def _indexed(self, array: Any, index: Any) -> Any:
        """An array's type and value, and the places asked for; None for what Numba is to do."""
        kind, index_kind = self.typeof(array.name), self.typeof(index.name)
        if not isinstance(kind, types.Array) or kind.layout != "C" or not kind.aligned:
            return None
        several = isinstance(index_kind, types.BaseTuple)
        kinds = index_kind.types if several else (index_kind,)
        if not all(isinstance(each, types.Integer) for each in kinds) or not 0 < len(kinds) <= kind.ndim:
            return None
        value = self.loadvar(index.name)
        values = [self.builder.extract_value(value, place) for place in range(len(kinds))] if several else [value]
        if any(isinstance(each, llvm.Constant) and each.constant < 0 for each in values):
            return None
        places = [self.context.cast(self.builder, *each, types.intp) for each in zip(values, kinds, strict=True)]
        whole = self.loadvar(array.name)
        if self.context.enable_boundscheck:
            for axis, place in enumerate(places):
                size = self.builder.extract_value(whole, (SHAPE, axis))
                cgutils.do_boundscheck(self.context, self.builder, place, size, axis)
        return kind, whole, places

    def _pointer(self, kind: Any, array: Any, places: list[Any]) -> Any:
        """Where an element lies, or the first one of a row."""
        place = places[0]
        for axis in range(1, kind.ndim):
            place = self.builder.mul(place, self.builder.extract_value(array, (SHAPE, axis)))
            if axis < len(places):
                place = self.builder.add(place, places[axis])
        return self.builder.gep(self.builder.extract_value(array, DATA), [place], inbounds=True)

    def _row(self, kind: Any, array: Any, places: list[Any], wanted: Any) -> Any:
        """A row of an array, or a plane."""
        word, axes = self.builder.extract_value, range(len(places), kind.ndim)
        n_items = word(array, (SHAPE, axes[0]))
        for axis in axes[1:]:
            n_items = self.builder.mul(n_items, word(array, (SHAPE, axis)))
        held = word(array, 0), word(array, 1)
        row = self._record(wanted, *held, n_items, word(array, ITEM_SIZE), self._pointer(kind, array, places))
        for part in (SHAPE, STRIDES):
            for place, axis in enumerate(axes):
                row = self.builder.insert_value(row, word(array, (part, axis)), (part, place))
        self.incref(wanted, row)
        return row
