"""The program as a tree: small frozen values. Every node knows its place in the text, which is no part of
what it means, so equal programs are equal trees however they were laid out.

Words that a program may leave out are None when they were: `asynchronous=None` is a blocking send, or a
receive that does as its sender does.
"""

from __future__ import annotations

from scalatrace.codegen.conceptual.tree.expressions import (
    AllOthers,
    AllTasks,
    Between,
    BinaryOperation,
    Comprehension,
    Conditional,
    Dimension,
    Expr,
    FileData,
    FunctionCall,
    Generator,
    Integer,
    Listing,
    Logical,
    MeshCoordinate,
    MeshDistance,
    MeshNeighbor,
    MyTask,
    NumberComparison,
    OneTask,
    OpenRange,
    Parity,
    Range,
    Real,
    Rel,
    SuchThat,
    TaskGroup,
    TaskRanges,
    Tasks,
    Unary,
    Variable,
    Within,
)
from scalatrace.codegen.conceptual.tree.node import Comments, SyntaxNode
from scalatrace.codegen.conceptual.tree.own import (
    Aggregate,
    BackendExecute,
    ComputeAggregates,
    Counters,
    Delay,
    Item,
    Log,
    LogColumn,
    Output,
    TouchBuffers,
    TouchMemory,
    ValueOf,
)
from scalatrace.codegen.conceptual.tree.statements import (
    Assert,
    Assign,
    BackendDeclares,
    Binding,
    Block,
    ForCount,
    ForEach,
    ForTime,
    Header,
    If,
    Let,
    LetRandom,
    LetTasks,
    LetValue,
    ProgramParameter,
    ProgramTree,
    Sentence,
    Statement,
    Version,
)
from scalatrace.codegen.conceptual.tree.together import (
    Alignment,
    Await,
    MessageBuffer,
    MessageSpec,
    Multicast,
    Receive,
    Reception,
    Reduce,
    ReductionResult,
    ReductionValues,
    Send,
    Synchronize,
    Touching,
    UnitAmount,
)

__all__ = [
    "Aggregate", "Alignment", "AllOthers", "AllTasks", "Assert", "Assign", "Await", "BackendDeclares",
    "BackendExecute", "Between", "BinaryOperation", "Binding", "Block", "Comments", "Comprehension",
    "ComputeAggregates", "Conditional", "Counters", "Delay", "Dimension", "Expr", "FileData", "ForCount",
    "ForEach", "ForTime", "FunctionCall", "Generator", "Header", "If", "Integer", "Item", "Let",
    "LetRandom", "LetTasks", "LetValue", "Listing", "Log", "LogColumn", "Logical", "MeshCoordinate",
    "MeshDistance", "MeshNeighbor", "MessageBuffer", "MessageSpec", "Multicast", "MyTask",
    "NumberComparison", "OneTask", "OpenRange", "Output", "Parity", "ProgramParameter", "ProgramTree",
    "Range", "Real", "Receive", "Reception", "Reduce", "ReductionResult", "ReductionValues", "Rel", "Send",
    "Sentence", "Statement", "SuchThat", "Synchronize", "SyntaxNode", "TaskGroup", "TaskRanges", "Tasks",
    "TouchBuffers", "TouchMemory", "Touching", "Unary", "UnitAmount", "ValueOf", "Variable", "Version",
    "Within",
]  # fmt: skip
