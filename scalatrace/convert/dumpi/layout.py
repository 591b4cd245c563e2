"""Layout of the records of DUMPI traces: the arguments of each call, in the order of the calls' numbers.

A line is a function and its arguments. An argument is a type after its name, where the name is needed:

    b h i q    integers of 1, 2, 4 and 8 bytes, big-endian
    s          characters after their number (i)
    t          statuses after their number: bytes i, source i, cancelled b, error b, and since 0.6.3 tag i;
               nothing where the record has none
    X*         an array of X after its length (i);  X** an array of arrays
    X?         only where the rank in `commrank` or `oldcommrank` is the `root`
    X*@V       an array since version V; before, one X

The order is that of dumpi/common/funclabels.h and dumpiio.c of sst-dumpi. DUMPI writes no record of
MPI_Pcontrol.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

__all__ = ["END_OF_STREAM", "RecordArgument", "RecordLayout", "layouts"]

_CALLS = """
Send count:i datatype:h dest:i tag:i comm:h
Recv count:i datatype:h source:i tag:i comm:h status:t
Get_count t h i
Bsend count:i datatype:h dest:i tag:i comm:h
Ssend count:i datatype:h dest:i tag:i comm:h
Rsend count:i datatype:h dest:i tag:i comm:h
Buffer_attach i
Buffer_detach i
Isend count:i datatype:h dest:i tag:i comm:h request:i
Ibsend count:i datatype:h dest:i tag:i comm:h request:i
Issend count:i datatype:h dest:i tag:i comm:h request:i
Irsend count:i datatype:h dest:i tag:i comm:h request:i
Irecv count:i datatype:h source:i tag:i comm:h request:i
Wait request:i status:t
Test request:i flag:i status:t
Request_free request:i
Waitany count:i requests:i* index:i status:t
Testany count:i requests:i* index:i flag:i status:t
Waitall count:i requests:i* statuses:t
Testall count:i requests:i* flag:i statuses:t
Waitsome count:i requests:i* outcount:i indices:i* statuses:t
Testsome count:i requests:i* outcount:i indices:i* statuses:t
Iprobe source:i tag:i comm:h flag:i status:t
Probe source:i tag:i comm:h status:t
Cancel request:i
Test_cancelled t i
Send_init count:i datatype:h dest:i tag:i comm:h request:i
Bsend_init count:i datatype:h dest:i tag:i comm:h request:i
Ssend_init count:i datatype:h dest:i tag:i comm:h request:i
Rsend_init count:i datatype:h dest:i tag:i comm:h request:i
Recv_init count:i datatype:h source:i tag:i comm:h request:i
Start request:i
Startall count:i requests:i*
Sendrecv sendcount:i sendtype:h dest:i sendtag:i recvcount:i recvtype:h source:i recvtag:i comm:h status:t
Sendrecv_replace count:i datatype:h dest:i sendtag:i source:i recvtag:i comm:h status:t
Type_contiguous count:i oldtype:h newtype:h
Type_vector count:i blocklength:i stride:i oldtype:h newtype:h
Type_hvector count:i blocklength:i stride:i oldtype:h newtype:h
Type_indexed count:i lengths:i* indices:i* oldtype:h newtype:h
Type_hindexed count:i lengths:i* indices:i* oldtype:h newtype:h
Type_struct count:i lengths:i* indices:i*@0.6.9 oldtypes:h* newtype:h
Address i
Type_extent h i
Type_size h i
Type_lb h i
Type_ub h i
Type_commit h
Type_free h
Get_elements t h i
Pack i h i i i h
Unpack i i i i h h
Pack_size i h h i
Barrier comm:h
Bcast count:i datatype:h root:i comm:h
Gather commrank:i sendcount:i sendtype:h root:i comm:h recvcount:i? recvtype:h?
Gatherv commrank:i commsize:i sendcount:i sendtype:h root:i comm:h recvcounts:i*? displs:i*? recvtype:h
Scatter commrank:i recvcount:i recvtype:h root:i comm:h sendcount:i? sendtype:h?
Scatterv commrank:i commsize:i sendtype:h recvcount:i recvtype:h root:i comm:h sendcounts:i*? displs:i*?
Allgather sendcount:i sendtype:h recvcount:i recvtype:h comm:h
Allgatherv commsize:i sendcount:i sendtype:h recvcounts:i* displs:i* recvtype:h comm:h
Alltoall sendcount:i sendtype:h recvcount:i recvtype:h comm:h
Alltoallv commsize:i sendcounts:i* sdispls:i* sendtype:h recvcounts:i* rdispls:i* recvtype:h comm:h
Reduce count:i datatype:h op:b root:i comm:h
Op_create i b
Op_free b
Allreduce count:i datatype:h op:b comm:h
Reduce_scatter commsize:i recvcounts:i* datatype:h op:b comm:h
Scan count:i datatype:h op:b comm:h
Group_size h i
Group_rank h i
Group_translate_ranks h i i* h i*
Group_compare h h b
Comm_group comm:h group:h
Group_union group1:h group2:h newgroup:h
Group_intersection group1:h group2:h newgroup:h
Group_difference group1:h group2:h newgroup:h
Group_incl group:h count:i ranks:i* newgroup:h
Group_excl group:h count:i ranks:i* newgroup:h
Group_range_incl group:h count:i ranges:i** newgroup:h
Group_range_excl group:h count:i ranges:i** newgroup:h
Group_free h
Comm_size h i
Comm_rank h i
Comm_compare h h b
Comm_dup comm:h newcomm:h
Comm_create comm:h group:h newcomm:h
Comm_split comm:h color:i key:i newcomm:h
Comm_free comm:h
Comm_test_inter h i
Comm_remote_size h i
Comm_remote_group h h
Intercomm_create comm:h localleader:i remotecomm:h remoteleader:i tag:i newcomm:h
Intercomm_merge comm:h high:i newcomm:h
Keyval_create h
Keyval_free h
Attr_put h i
Attr_get h i i
Attr_delete h i
Topo_test h b
Cart_create comm:h ndim:i dims:i* periods:i* reorder:i newcomm:h
Dims_create i i i* i*
Graph_create numedges:i comm:h nodes:i index:i* edges:i* reorder:i newcomm:h
Graphdims_get h i i
Graph_get i i h i i i* i*
Cartdim_get h i
Cart_get i h i i* i* i*@0.6.8
Cart_rank i h i* i
Cart_coords i h i i i*
Graph_neighbors_count h i i
Graph_neighbors i h i i i*
Cart_shift h i i i i
Cart_sub ndim:i comm:h remain_dims:i* newcomm:h
Cart_map h i i* i* i
Graph_map i h i i* i* i
Get_processor_name s i
Get_version i i
Errhandler_create h
Errhandler_set h h
Errhandler_get h h
Errhandler_free h
Error_string i s i
Error_class i i
Wtime
Wtick
Init s*
Finalize
Initialized i
Abort h i
Pcontrol
Close_port s
Comm_accept portname:s info:h root:i comm:h newcomm:h
Comm_connect portname:s info:h root:i comm:h newcomm:h
Comm_disconnect comm:h
Comm_get_parent h
Comm_join fd:i comm:h
Comm_spawn oldcommrank:i root:i comm:h newcomm:h s? s*? i? h? i*?
Comm_spawn_multiple i oldcommrank:i root:i comm:h newcomm:h i? s*? s**? i*? h*? i*?
Lookup_name s h s
Open_port h s
Publish_name s h s
Unpublish_name s h s
Accumulate i h i i i h b h
Get i h i i i h h
Put i h i i i h h
Win_complete h
Win_create i i h h h
Win_fence b h
Win_free h
Win_get_group h h
Win_lock b i b h
Win_post h b h
Win_start h b h
Win_test h i
Win_unlock i h
Win_wait h
Alltoallw commsize:i sendcounts:i* sdispls:i* sendtypes:h* recvcounts:i* rdispls:i* recvtypes:h* comm:h
Exscan count:i datatype:h op:b comm:h
Add_error_class i
Add_error_code i i
Add_error_string i s
Comm_call_errhandler h i
Comm_create_keyval h
Comm_delete_attr h h
Comm_free_keyval h
Comm_get_attr h h i
Comm_get_name h s i
Comm_set_attr h h
Comm_set_name h s
File_call_errhandler h i
Grequest_complete i
Grequest_start i
Init_thread s* b b
Is_thread_main i
Query_thread b
Status_set_cancelled t i
Status_set_elements t h i
Type_create_keyval h
Type_delete_attr h h
Type_dup oldtype:h newtype:h
Type_free_keyval h
Type_get_attr h h i
Type_get_contents i i i h i i i i* i* h*
Type_get_envelope h i i i b
Type_get_name h s i
Type_set_attr h h
Type_set_name h s
Type_match_size b i h
Win_call_errhandler h i
Win_create_keyval h
Win_delete_attr h h
Win_free_keyval h
Win_get_attr h h i
Win_get_name h s i
Win_set_attr h h
Win_set_name h s
Alloc_mem i h
Comm_create_errhandler h
Comm_get_errhandler h h
Comm_set_errhandler h h
File_create_errhandler h
File_get_errhandler h h
File_set_errhandler h h
Finalized i
Free_mem
Get_address i
Info_create h
Info_delete h s
Info_dup h h
Info_free h
Info_get h s i s i
Info_get_nkeys h i
Info_get_nthkey h i s
Info_get_valuelen h s i i
Info_set h s s
Pack_external s i h i i i
Pack_external_size s i h i
Request_get_status i i t
Type_create_darray size:i i i gsizes:i* b* i* i* b oldtype:h newtype:h
Type_create_hindexed count:i blocklengths:i* displacements:i* oldtype:h newtype:h
Type_create_hvector count:i blocklength:i stride:i oldtype:h newtype:h
Type_create_indexed_block count:i blocklength:i displacments:i* oldtype:h newtype:h
Type_create_resized oldtype:h lb:i extent:i newtype:h
Type_create_struct count:i blocklengths:i* displacements:i* oldtypes:h* newtype:h
Type_create_subarray ndims:i sizes:i* subsizes:i* starts:i* order:b oldtype:h newtype:h
Type_get_extent h i i
Type_get_true_extent h i i
Unpack_external s i i i i h
Win_create_errhandler h
Win_get_errhandler h h
Win_set_errhandler h h
File_open h s b h h
File_close h
File_delete s h
File_set_size h q
File_preallocate h q
File_get_size h q
File_get_group h h
File_get_amode h b
File_set_info h h
File_get_info h h
File_set_view h q h h s h
File_get_view h q h h s
File_read_at h q i h t
File_read_at_all h q i h t
File_write_at h q i h t
File_write_at_all h q i h t
File_iread_at h q i h i
File_iwrite_at h q i h i
File_read h i h t
File_read_all h i h t
File_write h i h t
File_write_all h i h t
File_iread h i h i
File_iwrite h i h i
File_seek h q b
File_get_position h q
File_get_byte_offset h q q
File_read_shared h i h t
File_write_shared h i h t
File_iread_shared h i h i
File_iwrite_shared h i h i
File_read_ordered h i h t
File_write_ordered h i h t
File_seek_shared h q b
File_get_position_shared h q
File_read_at_all_begin h q i h
File_read_at_all_end h t
File_write_at_all_begin h q i h
File_write_at_all_end h t
File_read_all_begin h i h
File_read_all_end h t
File_write_all_begin h i h
File_write_all_end h t
File_read_ordered_begin h i h
File_read_ordered_end h t
File_write_ordered_begin h i h
File_write_ordered_end h t
File_get_type_extent h h i
Register_datarep s
File_set_atomicity h i
File_get_atomicity h i
File_sync h
IO_Test i i t
IO_Wait i t
IO_Testall i i* i t
IO_Waitall i i* t
IO_Testany i i* i i t
IO_Waitany i i* i t
IO_Waitsome i i* i i* t
IO_Testsome i i* i i* t
ALL_FUNCTIONS
Function_enter fn:q
Function_exit fn:q
"""

END_OF_STREAM = _CALLS.strip().count("\n") + 1
"""Number that ends the calls."""


@dataclass(frozen=True, slots=True)
class RecordArgument:
    """An argument.

    Attributes:
        name: "" where it is not needed.
        kind: "b", "h", "i", "q", "s" or "t".
        depth: of arrays; 0 is one value.
        at_root: whether only the root has it.
        since: version in which it became an array.
    """

    name: str
    kind: str
    depth: int = 0
    at_root: bool = False
    since: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class RecordLayout:
    """A function and its arguments. `codes`: for `struct`, where all are integers; else ""."""

    name: str
    arguments: tuple[RecordArgument, ...]
    codes: str


@cache
def layouts() -> tuple[RecordLayout, ...]:
    """Return the layouts by the numbers of calls."""
    return tuple(_parse_layout(line) for line in _CALLS.strip().split("\n"))


def _parse_layout(line: str) -> RecordLayout:
    name, *words = line.split()
    arguments = tuple(map(_parse_argument, words))
    is_fixed = all(a.kind in "bhiq" and not a.depth and not a.at_root for a in arguments)
    return RecordLayout(name, arguments, "".join(a.kind for a in arguments) if is_fixed else "")


def _parse_argument(word: str) -> RecordArgument:
    name, _, kind = word.rpartition(":")
    kind, _, since = kind.partition("@")
    version = tuple(map(int, since.split("."))) if since else ()
    return RecordArgument(name, kind[0], kind.count("*"), kind.endswith("?"), version)
