/* stubs.S - the MPI functions of names.def as jumps through a table, and dlsym.
 *
 *     program --call--> MPI_Send: jmp *front_table[i] --(at first)--> front_lazy --> front_resolve(i, return address)
 *                                          |                                              | sets front_table[i]
 *                                          `--(from then on)--> the shim's wrapper <------'
 *
 * Jumps keep arguments and return address: the wrapper sees its caller as if there were no stub. front_lazy saves all
 * registers that may hold arguments. A third entry of each stub is the resolver that symbols.c makes of its symbol.
 */
#if defined(__x86_64__)

.macro stub name, number
    .text
    .p2align 4
    .globl \name
    .type \name, @function
\name:
1:  endbr64
    jmp *front_table + 8 * \number(%rip)
2:  movl $\number, %r11d
    jmp front_lazy
3:  movl $\number, %edi
    jmp front_address
    .size \name, . - \name
    .section .data.rel.front_table, "aw"
    .quad 2b
    .section .data.rel.ro.front_stubs, "aw"
    .quad 1b, 3b
.endm

    .text
    .type front_lazy, @function
front_lazy: /* the number is in r11 */
    .cfi_startproc
    pushq %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset rbp, -16
    movq %rsp, %rbp
    .cfi_def_cfa_register rbp
    subq $192, %rsp
    movq %rax, (%rsp) /* number of vector registers of a variadic call */
    movq %rdi, 8(%rsp)
    movq %rsi, 16(%rsp)
    movq %rdx, 24(%rsp)
    movq %rcx, 32(%rsp)
    movq %r8, 40(%rsp)
    movq %r9, 48(%rsp)
    movq %r10, 56(%rsp)
    movups %xmm0, 64(%rsp)
    movups %xmm1, 80(%rsp)
    movups %xmm2, 96(%rsp)
    movups %xmm3, 112(%rsp)
    movups %xmm4, 128(%rsp)
    movups %xmm5, 144(%rsp)
    movups %xmm6, 160(%rsp)
    movups %xmm7, 176(%rsp)
    movl %r11d, %edi
    movq 8(%rbp), %rsi
    call front_resolve
    movq %rax, %r11
    movups 176(%rsp), %xmm7
    movups 160(%rsp), %xmm6
    movups 144(%rsp), %xmm5
    movups 128(%rsp), %xmm4
    movups 112(%rsp), %xmm3
    movups 96(%rsp), %xmm2
    movups 80(%rsp), %xmm1
    movups 64(%rsp), %xmm0
    movq 56(%rsp), %r10
    movq 48(%rsp), %r9
    movq 40(%rsp), %r8
    movq 32(%rsp), %rcx
    movq 24(%rsp), %rdx
    movq 16(%rsp), %rsi
    movq 8(%rsp), %rdi
    movq (%rsp), %rax
    leave
    .cfi_def_cfa rsp, 8
    jmp *%r11
    .cfi_endproc
    .size front_lazy, . - front_lazy

/* Names that begin with MPI_ or mpi_ go to front_dlsym; with all others, and with RTLD_NEXT, whose answer depends on the
 * caller, the C library's dlsym is jumped to. */
    .p2align 4
    .globl dlsym
    .type dlsym, @function
dlsym:
    .cfi_startproc
    endbr64
    cmpq $-1, %rdi
    je 1f
    movzbl (%rsi), %eax
    orl $0x20, %eax
    cmpl $'m', %eax
    jne 1f
    movzbl 1(%rsi), %eax
    orl $0x20, %eax
    cmpl $'p', %eax
    jne 1f
    movzbl 2(%rsi), %eax
    orl $0x20, %eax
    cmpl $'i', %eax
    jne 1f
    cmpb $'_', 3(%rsi)
    je front_dlsym
1:  movq front_next_dlsym(%rip), %rax
    testq %rax, %rax
    jz 2f
    jmp *%rax
2:  pushq %rdi
    .cfi_adjust_cfa_offset 8
    pushq %rsi
    .cfi_adjust_cfa_offset 8
    subq $8, %rsp
    .cfi_adjust_cfa_offset 8
    call front_find_dlsym
    addq $8, %rsp
    .cfi_adjust_cfa_offset -8
    popq %rsi
    .cfi_adjust_cfa_offset -8
    popq %rdi
    .cfi_adjust_cfa_offset -8
    jmp *%rax
    .cfi_endproc
    .size dlsym, . - dlsym

#elif defined(__aarch64__)

.macro stub name, number
    .text
    .p2align 4
    .globl \name
    .type \name, %function
\name:
1:  hint #34 /* bti c */
    adrp x16, front_table + 8 * \number
    ldr x16, [x16, #:lo12:front_table + 8 * \number]
    br x16
2:  hint #36 /* bti j */
    mov w17, #\number
    b front_lazy
3:  hint #34
    mov w0, #\number
    b front_address
    .size \name, . - \name
    .section .data.rel.front_table, "aw"
    .xword 2b
    .section .data.rel.ro.front_stubs, "aw"
    .xword 1b, 3b
.endm

    .text
    .type front_lazy, %function
front_lazy: /* the number is in w17 */
    .cfi_startproc
    stp x29, x30, [sp, #-224]!
    .cfi_def_cfa_offset 224
    .cfi_offset 29, -224
    .cfi_offset 30, -216
    mov x29, sp
    stp x0, x1, [sp, #16]
    stp x2, x3, [sp, #32]
    stp x4, x5, [sp, #48]
    stp x6, x7, [sp, #64]
    str x8, [sp, #80]
    stp q0, q1, [sp, #96]
    stp q2, q3, [sp, #128]
    stp q4, q5, [sp, #160]
    stp q6, q7, [sp, #192]
    mov w0, w17
    mov x1, x30
    bl front_resolve
    mov x16, x0
    ldp q6, q7, [sp, #192]
    ldp q4, q5, [sp, #160]
    ldp q2, q3, [sp, #128]
    ldp q0, q1, [sp, #96]
    ldr x8, [sp, #80]
    ldp x6, x7, [sp, #64]
    ldp x4, x5, [sp, #48]
    ldp x2, x3, [sp, #32]
    ldp x0, x1, [sp, #16]
    ldp x29, x30, [sp], #224
    .cfi_def_cfa_offset 0
    br x16
    .cfi_endproc
    .size front_lazy, . - front_lazy

    .p2align 4
    .globl dlsym
    .type dlsym, %function
dlsym:
    .cfi_startproc
    hint #34
    cmn x0, #1
    b.eq 1f
    ldrb w9, [x1]
    orr w9, w9, #0x20
    cmp w9, #'m'
    b.ne 1f
    ldrb w9, [x1, #1]
    orr w9, w9, #0x20
    cmp w9, #'p'
    b.ne 1f
    ldrb w9, [x1, #2]
    orr w9, w9, #0x20
    cmp w9, #'i'
    b.ne 1f
    ldrb w9, [x1, #3]
    cmp w9, #'_'
    b.eq front_dlsym
1:  adrp x16, front_next_dlsym
    ldr x16, [x16, #:lo12:front_next_dlsym]
    cbz x16, 2f
    br x16
2:  stp x29, x30, [sp, #-32]!
    .cfi_def_cfa_offset 32
    .cfi_offset 29, -32
    .cfi_offset 30, -24
    mov x29, sp
    stp x0, x1, [sp, #16]
    bl front_find_dlsym
    mov x16, x0
    ldp x0, x1, [sp, #16]
    ldp x29, x30, [sp], #32
    .cfi_def_cfa_offset 0
    br x16
    .cfi_endproc
    .size dlsym, . - dlsym

#else
#error "the jumps to the tracer are written for x86-64 and AArch64"
#endif

    .hidden front_table
    .hidden front_stubs
    .hidden front_address
    .hidden front_resolve
    .hidden front_dlsym
    .hidden front_next_dlsym
    .hidden front_find_dlsym
    .globl front_table
    .globl front_stubs
    .section .data.rel.ro.front_stubs, "aw"
    .p2align 3
front_stubs: /* for each name: the stub, and the resolver of symbols.c */
    .section .data.rel.front_table, "aw"
    .p2align 3
front_table:

#define FRONT_NAME(name) stub name, __COUNTER__;
#include "names.def"

    .section .note.GNU-stack, "", %progbits
