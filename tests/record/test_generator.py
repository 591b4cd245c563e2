"""The generator: what it reads from mpi.h, which procedures are events, what their events hold."""

from __future__ import annotations

import pytest

from scalatrace.pmpi import emit
from scalatrace.pmpi import parameter_rules as rules
from scalatrace.pmpi.generate import generate, selected
from scalatrace.pmpi.standard import as_declared, declarations, procedures

BY_NAME = {p.name: p for p in procedures()}
HEADER = """
extern int MPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
    __attribute__((visibility("default")));
int PMPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm);
int MPI_Pready_list(int length, int partition_list[], MPI_Request request);
int PMPI_Pready_list(int, int [], MPI_Request);
int MPI_Comm_rank(MPI_Comm, int *); int PMPI_Comm_rank(MPI_Comm, int *);
int MPI_Buffer_flush(void); int PMPI_Buffer_flush(void);
int MPIX_Other(int a); int MPI_Only(int a);
"""


def _schema(name: str) -> list[str]:
    letters = "ipctsa"
    return [f"{v.name}:{letters[v.kind]}" for v in rules.values(BY_NAME[name])]


def test_declarations() -> None:
    found = declarations(HEADER)
    assert set(found) == {"Send", "Pready_list", "Comm_rank", "Buffer_flush"}
    assert found["Send"][3] == "int dest"


def test_types_are_the_headers_names_the_standards() -> None:
    declared = as_declared(BY_NAME["Pready_list"], declarations(HEADER)["Pready_list"])
    assert [p.text for p in declared.parameters] == [
        "int length",
        "int array_of_partitions[]",
        "MPI_Request request",
    ]
    rank = as_declared(BY_NAME["Comm_rank"], declarations(HEADER)["Comm_rank"])
    assert [p.text for p in rank.parameters] == ["MPI_Comm comm", "int *rank"]


@pytest.mark.parametrize(
    ("name", "schema"),
    [
        ("Send", "count:i datatype:t dest:p tag:i comm:c"),
        ("Send_c", "count:i datatype:t dest:p tag:i comm:c"),
        ("Irecv", "count:i datatype:t source:p tag:i comm:c"),
        ("Mrecv", "count:i datatype:t message:i"),
        ("Gatherv", "sendcount:i sendtype:t recvcounts:a displs:a recvtype:t root:i comm:c in_place:i"),
        (
            "Ialltoallw",
            "sendcounts:a sdispls:a sendtypes:t recvcounts:a rdispls:a recvtypes:t comm:c in_place:i",
        ),
        ("Comm_split", "comm:c color:i key:i newcomm:c"),
        ("Cart_create", "comm:c ndims:i dims:a periods:a reorder:i newcomm:c"),
        ("Intercomm_create", "comm:c local_leader:p peer_comm:c remote_leader:i tag:i newcomm:c"),
        (
            "Intercomm_create_from_groups",
            "local_group:a local_leader:i remote_group:a remote_leader:i stringtag:s newcomm:c",
        ),
        ("Win_lock", "lock_type:s rank:p assert:s win:i comm:c"),
        ("File_write_at", "fh:i comm:c offset:i count:i datatype:t"),
        ("Startall", "requests:a"),
        ("Barrier", "comm:c"),
    ],
)
def test_schema(name: str, schema: str) -> None:
    assert _schema(name) == schema.split()


def test_every_event_fits_into_the_cores_event() -> None:
    events = [p for p in procedures() if rules.is_event(p)]
    assert len(events) > 250
    for procedure in events:
        values = rules.values(procedure)
        assert len(values) <= 24
        assert len({v.name for v in values}) == len(values), procedure.name


def test_what_moves_data_or_makes_communicators_is_an_event() -> None:
    names = {p.op for p in procedures() if rules.is_event(p)}
    assert {"Isendrecv", "Psend_init", "Pready", "Ineighbor_alltoallw", "Rget_accumulate"} <= names
    assert {"Comm_idup_with_info", "Win_flush_local_all", "File_read_ordered_begin", "Improbe"} <= names
    assert not {"Comm_rank", "Get_count", "Type_free", "Win_get_attr", "Init", "T_init_thread"} & names


def test_nothing_is_both_event_and_counted() -> None:
    assert not [p.name for p in procedures() if rules.is_event(p) and rules.is_counted(p)]


def test_only_what_the_header_has_is_wrapped() -> None:
    found = declarations(HEADER)
    assert sorted(p.name for p in selected(found)) == ["Buffer_flush", "Comm_rank", "Pready_list", "Send"]
    text = "".join(text for name, text in generate(found).items() if name.startswith("wrappers"))
    assert "MPI_Send(const void *buf, int count" in text
    assert "MPI_Recv(" not in text
    assert "mpi_send_f08_" in text


def test_a_recorder_reads_no_buffer() -> None:
    text = emit.recorder(BY_NAME["Send"])
    assert "(void)buf;" in text
    assert "ST_MEMORY(buf)" in text  # the address
    assert text.count("buf") == 3  # the parameter, too


def test_a_group_that_a_recorder_takes_it_frees() -> None:
    """Recorded queries too: MPI keeps groups until they are freed."""
    for procedure in procedures():
        text = emit.recorder(procedure)
        assert text.count("&call->base_group);") == 2 * text.count("PMPI_Group_free(&call->base_group);"), (
            procedure.name
        )
    assert "PMPI_Group_free(" in emit.recorder(BY_NAME["Comm_create"])


def test_large_count_variants_are_the_same_events() -> None:
    """MPI_Send_c is an event Send: what it does is the same, and a count is a count."""
    variants = [p for p in procedures() if p.name.endswith("_c") and rules.is_event(p)]
    assert len(variants) > 80
    for procedure in variants:
        assert procedure.op == procedure.name.removesuffix("_c")
        assert [v.name for v in rules.values(procedure)] == [
            v.name for v in rules.values(BY_NAME[procedure.op])
        ]
