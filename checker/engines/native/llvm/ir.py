"""LLVM's representation as text: types, values, functions, and a builder that writes one instruction per call.

The methods have the names of `llvmlite.ir`, of which this is the part that the engine needs. Instructions are strings
from the start, not objects that are printed at the end: lowering a spec takes less than half of the time. LLVM checks
the types when it parses the text.

    module     the globals by name; `str(module)` is the text
    function   its blocks, in the order in which they were appended
    block      lines of text, and a terminator, which always follows them
    value      a type, and the text that refers to it: `%.7`, `42`, `@name`

A module owns its functions, and a function its blocks. The references back are weak, so a module that is not needed any
more is freed at once, and not by a collection of garbage, which takes longer: a module has thousands of blocks.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TypeVar

Owner = TypeVar("Owner")


class IrType:
    """A type; `text` is its name in LLVM. Types with the same text are equal."""

    __slots__ = ("text",)

    def __init__(self, text: str):
        self.text = text

    def __str__(self) -> str:
        return self.text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IrType) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def as_pointer(self) -> PointerType:
        """Return the type of addresses of this type."""
        return PointerType(self)


class VoidType(IrType):
    """The result type of a function that returns nothing."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("void")


class IntegerType(IrType):
    """An integer of some bits."""

    __slots__ = ("width",)

    def __init__(self, width: int):
        super().__init__(f"i{width}")
        self.width = width


class PointerType(IrType):
    """An address. LLVM's pointers have no type: `pointee` chooses the type of loads and the size of steps."""

    __slots__ = ("pointee",)

    def __init__(self, pointee: IrType):
        super().__init__("ptr")
        self.pointee = pointee


class ArrayType(IrType):
    """A number of items of one type."""

    __slots__ = ("count", "element")

    def __init__(self, element: IrType, count: int):
        super().__init__(f"[{count} x {element.text}]")
        self.element, self.count = element, count


class VectorType(IrType):
    """A number of scalars that one instruction processes at once."""

    __slots__ = ("count", "element")

    def __init__(self, element: IrType, count: int):
        super().__init__(f"<{count} x {element.text}>")
        self.element, self.count = element, count


class LiteralStructType(IrType):
    """A struct without a name."""

    __slots__ = ("elements",)

    def __init__(self, elements: Sequence[IrType]):
        super().__init__(f"{{{', '.join(element.text for element in elements)}}}")
        self.elements = tuple(elements)


class FunctionType(IrType):
    """The type of a function, from its result and its arguments."""

    __slots__ = ("args", "return_type")

    def __init__(self, return_type: IrType, args: Sequence[IrType]):
        super().__init__(f"{return_type.text} ({', '.join(argument.text for argument in args)})")
        self.return_type, self.args = return_type, tuple(args)


class Value:
    """A value: its type, and the text that refers to it."""

    __slots__ = ("ref", "type")

    def __init__(self, type: IrType, ref: str):
        self.type, self.ref = type, ref


Undefined = object()
"""The content of a constant that no code reads."""


class ConstantValue(Value):
    """A constant.

    `content`: an integer; the items of an array or vector, as constants or integers; None: all bits are zero; or
    Undefined.
    """

    __slots__ = ()

    def __init__(self, type: IrType, content: object):
        super().__init__(type, _constant_text(type, content))


def _constant_text(kind: IrType, content: object) -> str:
    if isinstance(content, int):
        return str(int(content))
    if content is None:
        return "null" if isinstance(kind, PointerType) else "zeroinitializer"
    if content is Undefined:
        return "undef"
    assert isinstance(kind, (ArrayType, VectorType)) and isinstance(content, (list, tuple))
    element = kind.element.text
    items = [f"{element} {item.ref if isinstance(item, Value) else int(item)}" for item in content]
    if isinstance(kind, ArrayType):
        return f"[{', '.join(items)}]"
    return f"splat ({items[0]})" if len(set(items)) == 1 else f"<{', '.join(items)}>"


class GlobalVariable(Value):
    """A global variable; the value is its address. Without an `initializer` it is external."""

    def __init__(self, module: Module, value_type: IrType, name: str):
        super().__init__(value_type.as_pointer(), f'@"{name}"')
        self.name, self.value_type = name, value_type
        self.linkage = ""
        self.global_constant = False
        self.initializer: ConstantValue | None = None
        module.add(self)

    def gep(self, indices: Sequence[ConstantValue]) -> Value:
        """Return the address (a constant) of a part of the variable."""
        kind, text = _step_into(self.value_type, indices)
        return Value(kind.as_pointer(), f"getelementptr ({self.value_type.text}, ptr {self.ref}, {text})")

    @property
    def definition(self) -> str:
        """The text of the variable."""
        kind = "constant" if self.global_constant else "global"
        if self.initializer is None:
            return f"{self.ref} = external {kind} {self.value_type}"
        return f"{self.ref} = {self.linkage} {kind} {self.value_type} {self.initializer.ref}"


class Module:
    """A module; `globals` has its functions and global variables by name."""

    def __init__(self) -> None:
        self.globals: dict[str, IrFunction | GlobalVariable] = {}

    def add(self, definition: IrFunction | GlobalVariable) -> None:
        """Add a function or global variable, which must have a new name."""
        assert definition.name not in self.globals, f"{definition.name} is defined already"
        self.globals[definition.name] = definition

    def get_unique_name(self, name: str) -> str:
        """Return a name that begins with `name` and that no global has."""
        unique, number = name, 0
        while unique in self.globals:
            number += 1
            unique = f"{name}.{number}"
        return unique

    def declared(self, name: str, result: IrType, arguments: Sequence[IrType]) -> IrFunction:
        """Return the function of a name, which is declared at its first use: one of LLVM's own, or an external one."""
        function = self.globals.get(name)
        if function is None:
            function = IrFunction(self, FunctionType(result, arguments), name)
        assert isinstance(function, IrFunction)
        return function

    def __str__(self) -> str:
        # No target: the process that compiles the text adds its own.
        lines = [member.definition for member in self.globals.values()]
        weights = ['!0 = !{!"branch_weights", i32 99, i32 1}', '!1 = !{!"branch_weights", i32 1, i32 99}\n']
        return "\n".join([*lines, *weights])


_LIKELY, _UNLIKELY = ", !prof !0", ", !prof !1"
"""The weights of a branch, which every module defines at its end."""


class IrFunction(Value):
    """A function; the value is its address. Without blocks it is external.

    `attributes`: such as `noinline`.
    """

    def __init__(self, module: Module, kind: FunctionType, name: str):
        super().__init__(kind.as_pointer(), f'@"{name}"')
        self._module = weakref.ref(module)
        self.name, self.kind = name, kind
        self.args = tuple(Value(argument, f"%.arg{number}") for number, argument in enumerate(kind.args))
        self.linkage = ""
        self.attributes: set[str] = set()
        self.blocks: list[Block] = []
        self.names = 0
        module.add(self)

    @property
    def module(self) -> Module:
        """The module of the function."""
        return _alive(self._module)

    @property
    def entry(self) -> Block:
        """The block with which the function begins."""
        return self.blocks[0]

    def append_basic_block(self, name: str = "") -> Block:
        """Append a block; its name begins with `name`."""
        self.names += 1
        block = Block(self, f"{name}.{self.names}")
        self.blocks.append(block)
        return block

    @property
    def definition(self) -> str:
        """The text of the function, with its blocks if it has some."""
        if not self.blocks:
            return f"declare {self.kind.return_type} {self.ref}({', '.join(map(str, self.kind.args))})"
        arguments = ", ".join(f"{argument.type} {argument.ref}" for argument in self.args)
        head = f"{self.linkage} {self.kind.return_type} {self.ref}({arguments}) {' '.join(sorted(self.attributes))}"
        lines = [f"define {head}", "{"]
        for block in self.blocks:
            lines.append(f'"{block.name}":')
            lines += block.lines
            lines.append(str(block.terminator))
        lines.append("}\n")
        return "\n".join(lines)


class Block:
    """A basic block. `terminator`: its last instruction, or None while the block is open."""

    __slots__ = ("_function", "label", "lines", "name", "terminator")

    def __init__(self, function: IrFunction, name: str):
        self._function = weakref.ref(function)
        self.name = name
        self.label = f'label %"{name}"'
        self.lines: list[str] = []
        self.terminator: str | Switch | None = None

    @property
    def function(self) -> IrFunction:
        """The function of the block."""
        return _alive(self._function)

    @property
    def is_terminated(self) -> bool:
        """Whether the block has a terminator."""
        return self.terminator is not None


class Switch:
    """A jump to the block of a number, or to a default."""

    def __init__(self, value: Value, default: Block):
        self._head = f"switch {value.type} {value.ref}, {default.label}"
        self._cases: list[str] = []

    def add_case(self, number: Value, block: Block) -> None:
        """Add the block of a number."""
        self._cases.append(f"{number.type} {number.ref}, {block.label}")

    def __str__(self) -> str:
        return f"{self._head} [{' '.join(self._cases)}]"


def _alive(owner: weakref.ref[Owner]) -> Owner:
    """Return the owner of a part; a part is used only while its owner exists."""
    referent = owner()
    assert referent is not None, "keep the module while it is under construction"
    return referent


def _step_into(kind: IrType, indices: Sequence[Value]) -> tuple[IrType, str]:
    """Return the type of a part, and the text of the indices that lead to it from an address of type `kind`."""
    for index in indices[1:]:
        if isinstance(kind, LiteralStructType):
            kind = kind.elements[int(index.ref)]
        else:
            assert isinstance(kind, (ArrayType, VectorType))
            kind = kind.element
    return kind, ", ".join([f"{index.type.text} {index.ref}" for index in indices])


def _binary(operator: str) -> Callable[[IRBuilder, Value, Value], Value]:
    """Return the method of the builder for an instruction of two operands of one type."""

    def method(self: IRBuilder, left: Value, right: Value) -> Value:
        return self.emit(left.type, f"{operator} {left.type.text} {left.ref}, {right.ref}")

    return method


def _cast(operator: str) -> Callable[[IRBuilder, Value, IrType], Value]:
    """Return the method of the builder for a conversion to a type; a value that has the type is returned as it is."""

    def method(self: IRBuilder, value: Value, kind: IrType) -> Value:
        if value.type.text == kind.text:
            # Pointers to different types have the same text: the value has the wanted type from now on.
            return Value(kind, value.ref)
        return self.emit(kind, f"{operator} {value.type.text} {value.ref} to {kind.text}")

    return method


class IRBuilder:
    """Appends instructions to a block."""

    __slots__ = ("_function", "_lines", "block")

    def __init__(self, block: Block):
        self.position_at_end(block)

    def position_at_end(self, block: Block) -> None:
        """Continue at the end of a block, before its terminator if it has one."""
        self.block, self._function, self._lines = block, block.function, block.lines

    @property
    def function(self) -> IrFunction:
        """The function under construction."""
        return self._function

    @property
    def module(self) -> Module:
        """The module under construction."""
        return self._function.module

    def append_basic_block(self, name: str = "") -> Block:
        """Append a block to the function."""
        return self._function.append_basic_block(name)

    def emit(self, kind: IrType, text: str) -> Value:
        """Append an instruction, and return its value."""
        function = self._function
        function.names += 1
        ref = f"%.{function.names}"
        self._lines.append(f"{ref} = {text}")
        return Value(kind, ref)

    def _end(self, text: str | Switch) -> None:
        assert self.block.terminator is None, "a block has one terminator"
        self.block.terminator = text

    # Arithmetic.

    add, sub, mul = _binary("add"), _binary("sub"), _binary("mul")
    udiv, urem, sdiv, srem = _binary("udiv"), _binary("urem"), _binary("sdiv"), _binary("srem")
    and_, or_, xor = _binary("and"), _binary("or"), _binary("xor")
    shl, lshr = _binary("shl"), _binary("lshr")

    def not_(self, value: Value) -> Value:
        """Return the value with every bit inverted."""
        return self.emit(value.type, f"xor {value.type.text} {value.ref}, -1")

    def icmp_signed(self, operator: str, left: Value, right: Value) -> Value:
        """Return a comparison of signed integers."""
        return self._compare(_SIGNED[operator], left, right)

    def icmp_unsigned(self, operator: str, left: Value, right: Value) -> Value:
        """Return a comparison of unsigned integers."""
        return self._compare(_UNSIGNED[operator], left, right)

    def _compare(self, condition: str, left: Value, right: Value) -> Value:
        kind = left.type
        result = VectorType(_I1, kind.count) if isinstance(kind, VectorType) else _I1
        return self.emit(result, f"icmp {condition} {kind.text} {left.ref}, {right.ref}")

    def select(self, test: Value, then: Value, otherwise: Value) -> Value:
        """Return one of two values."""
        kind = then.type
        operands = f"{kind.text} {then.ref}, {kind.text} {otherwise.ref}"
        return self.emit(kind, f"select {test.type.text} {test.ref}, {operands}")

    zext, sext, trunc = _cast("zext"), _cast("sext"), _cast("trunc")
    bitcast, inttoptr, ptrtoint = _cast("bitcast"), _cast("inttoptr"), _cast("ptrtoint")

    def ctpop(self, value: Value) -> Value:
        """Return the number of bits that are set."""
        return self.call(self._intrinsic("ctpop", value.type, [value.type]), [value])

    def cttz(self, value: Value, zero_is_poison: Value) -> Value:
        """Return the number of zeros below the lowest bit that is set."""
        return self.call(self._intrinsic("cttz", value.type, [value.type, _I1]), [value, zero_is_poison])

    def sadd_with_overflow(self, left: Value, right: Value) -> Value:
        """Return the sum of signed integers, and whether it does not fit (i1)."""
        return self._with_overflow("sadd.with.overflow", left, right)

    def ssub_with_overflow(self, left: Value, right: Value) -> Value:
        """Return the difference of signed integers, and whether it does not fit (i1)."""
        return self._with_overflow("ssub.with.overflow", left, right)

    def _with_overflow(self, name: str, left: Value, right: Value) -> Value:
        result = LiteralStructType([left.type, _I1])
        return self.call(self._intrinsic(name, result, [left.type, right.type]), [left, right])

    def _intrinsic(self, name: str, result: IrType, arguments: Sequence[IrType]) -> IrFunction:
        return self.module.declared(f"llvm.{name}.{arguments[0]}", result, arguments)

    # Parts of structs and vectors.

    def extract_value(self, struct: Value, index: int) -> Value:
        """Return an element of a struct."""
        assert isinstance(struct.type, LiteralStructType)
        return self.emit(struct.type.elements[index], f"extractvalue {struct.type.text} {struct.ref}, {index}")

    def insert_element(self, vector: Value, value: Value, index: Value) -> Value:
        """Return a vector with one element replaced."""
        operands = f"{value.type} {value.ref}, {index.type} {index.ref}"
        return self.emit(vector.type, f"insertelement {vector.type} {vector.ref}, {operands}")

    def extract_element(self, vector: Value, index: Value) -> Value:
        """Return an element of a vector."""
        assert isinstance(vector.type, VectorType)
        return self.emit(vector.type.element, f"extractelement {vector.type} {vector.ref}, {index.type} {index.ref}")

    def shuffle_vector(self, left: Value, right: Value, mask: Value) -> Value:
        """Return the elements of two vectors that a mask selects."""
        assert isinstance(left.type, VectorType) and isinstance(mask.type, VectorType)
        operands = ", ".join(f"{operand.type} {operand.ref}" for operand in (left, right, mask))
        return self.emit(VectorType(left.type.element, mask.type.count), f"shufflevector {operands}")

    # Memory.

    def alloca(self, kind: IrType, size: int = 1, name: str = "") -> Value:
        """Return the address of `size` new items on the stack; `name` is the beginning of its name in the text."""
        self._function.names += 1
        ref = f'%"{name}.{self._function.names}"'
        self._lines.append(f"{ref} = alloca {kind.text}" if size == 1 else f"{ref} = alloca {kind.text}, i32 {size}")
        return Value(kind.as_pointer(), ref)

    def load(self, address: Value, align: int | None = None) -> Value:
        """Return the value at an address."""
        kind = address.type
        assert isinstance(kind, PointerType)
        at = "" if align is None else f", align {align}"
        return self.emit(kind.pointee, f"load {kind.pointee.text}, ptr {address.ref}{at}")

    def store(self, value: Value, address: Value, align: int | None = None) -> None:
        """Append a write of a value to an address."""
        at = "" if align is None else f", align {align}"
        self._lines.append(f"store {value.type.text} {value.ref}, ptr {address.ref}{at}")

    def gep(self, address: Value, indices: Sequence[Value], inbounds: bool = False) -> Value:
        """Return the address of a part: of the item at the first index, of its part at the second, and so on."""
        start = address.type
        assert isinstance(start, PointerType)
        if len(indices) == 1:
            index = indices[0]
            if index.ref == "0":
                return address
            kind: IrType = start
            steps = f"{index.type.text} {index.ref}"
        else:
            part, steps = _step_into(start.pointee, indices)
            kind = part.as_pointer()
        operator = "getelementptr inbounds" if inbounds else "getelementptr"
        return self.emit(kind, f"{operator} {start.pointee.text}, ptr {address.ref}, {steps}")

    def atomic_rmw(self, operator: str, address: Value, value: Value, ordering: str) -> Value:
        """Change the value at an address in one step; return its former value."""
        operands = f"ptr {address.ref}, {value.type} {value.ref}"
        return self.emit(value.type, f"atomicrmw {operator} {operands} {ordering}")

    # Control flow.

    def call(self, function: Value, arguments: Sequence[Value]) -> Value:
        """Return the result of a call; a function without a result has no value to read."""
        assert isinstance(function.type, PointerType) and isinstance(function.type.pointee, FunctionType)
        result = function.type.pointee.return_type
        operands = ", ".join([f"{argument.type.text} {argument.ref}" for argument in arguments])
        text = f"call {result.text} {function.ref}({operands})"
        if isinstance(result, VoidType):
            self._lines.append(text)
            return Value(result, "")
        return self.emit(result, text)

    def ret(self, value: Value) -> None:
        """End the block with the return of a value."""
        self._end(f"ret {value.type.text} {value.ref}")

    def ret_void(self) -> None:
        """End the block with a return."""
        self._end("ret void")

    def branch(self, block: Block) -> None:
        """End the block with a jump."""
        self._end(f"br {block.label}")

    def cbranch(self, test: Value, then: Block, otherwise: Block, likely: bool | None = None) -> None:
        """End the block with a jump to one of two blocks; `likely`: whether it is usually the first one."""
        weights = "" if likely is None else _LIKELY if likely else _UNLIKELY
        self._end(f"br i1 {test.ref}, {then.label}, {otherwise.label}{weights}")

    def switch(self, value: Value, default: Block) -> Switch:
        """End the block with a jump to the block of a number; cases are added later."""
        switch = Switch(value, default)
        self._end(switch)
        return switch

    @contextmanager
    def goto_block(self, block: Block) -> Iterator[None]:
        """Append to another block inside the `with` block."""
        before = self.block
        self.position_at_end(block)
        yield
        self.position_at_end(before)

    def goto_entry_block(self) -> AbstractContextManager[None]:
        """Append to the entry block inside the `with` block."""
        return self.goto_block(self._function.entry)

    @contextmanager
    def if_then(self, test: Value, likely: bool | None = None) -> Iterator[None]:
        """Append the instructions of the `with` block for the case that a test (i1) is true."""
        then, end = self.append_basic_block("if"), self.append_basic_block("endif")
        self.cbranch(test, then, end, likely)
        self.position_at_end(then)
        yield
        self._jump(end)
        self.position_at_end(end)

    @contextmanager
    def if_else(
        self, test: Value, likely: bool | None = None
    ) -> Iterator[tuple[AbstractContextManager[None], AbstractContextManager[None]]]:
        """Yield two context managers: for the instructions if a test (i1) is true, and for those if it is false."""
        then, otherwise = self.append_basic_block("if"), self.append_basic_block("else")
        end = self.append_basic_block("endif")
        self.cbranch(test, then, otherwise, likely)
        yield self._side(then, end), self._side(otherwise, end)
        self.position_at_end(end)

    @contextmanager
    def _side(self, block: Block, end: Block) -> Iterator[None]:
        self.position_at_end(block)
        yield
        self._jump(end)

    def _jump(self, block: Block) -> None:
        if self.block.terminator is None:
            self.branch(block)


_I1 = IntegerType(1)
_EQUALITY = {"==": "eq", "!=": "ne"}
_SIGNED = {**_EQUALITY, "<": "slt", "<=": "sle", ">": "sgt", ">=": "sge"}
_UNSIGNED = {**_EQUALITY, "<": "ult", "<=": "ule", ">": "ugt", ">=": "uge"}
