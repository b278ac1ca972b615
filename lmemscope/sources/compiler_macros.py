"""Tables of the macros that nvcc's device passes and NVRTC predefine, and how they differ.

nvcc's come from its host compiler and from headers included before a source; NVRTC's from its front
end and built-in headers. Measured with nvcc and NVRTC 13.5, GCC 12.2 and glibc 2.36
(`tests/toolchain/test_compiler_macros.py` queries the installed ones).
"""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping

_DIFFERENT = {
    "": "__GNUC__ "
    "AIO_PRIO_DELTA_MAX BIG_ENDIAN BOOL_MAX BOOL_WIDTH BUFSIZ BYTE_ORDER CHARCLASS_NAME_MAX "
    "CLOCKS_PER_SEC COLL_WEIGHTS_MAX CUDA_API_PER_THREAD_DEFAULT_STREAM "
    "CUDA_DOUBLE_MATH_FUNCTIONS DELAYTIMER_MAX EOF EXIT_FAILURE EXIT_SUCCESS EXPR_NEST_MAX "
    "FILENAME_MAX FOPEN_MAX HOST_NAME_MAX INFINITY INT_MAX INT_MIN INT_WIDTH IOV_MAX "
    "LINE_MAX LITTLE_ENDIAN LLONG_MAX LLONG_MIN LLONG_WIDTH LOGIN_NAME_MAX L_ctermid "
    "L_cuserid L_tmpnam MATH_ERREXCEPT MATH_ERRNO MAXFLOAT MAX_CANON MAX_INPUT MB_CUR_MAX "
    "MB_LEN_MAX MQ_PRIO_MAX NAME_MAX NAN NFDBITS NGROUPS_MAX NULL NZERO PATH_MAX PDP_ENDIAN "
    "PIPE_BUF PTHREAD_DESTRUCTOR_ITERATIONS PTHREAD_KEYS_MAX PTHREAD_STACK_MIN P_tmpdir "
    "RAND_MAX RENAME_EXCHANGE RENAME_NOREPLACE RENAME_WHITEOUT RE_DUP_MAX RTSIG_MAX "
    "SCHAR_MAX SCHAR_MIN SCHAR_WIDTH SEM_VALUE_MAX SHRT_MAX SHRT_MIN SHRT_WIDTH SNAN SNANF "
    "SNANF32 SNANF32X SNANF64 SNANF64X SNANL SSIZE_MAX TIMER_ABSTIME TIME_UTC TMP_MAX "
    "TTY_NAME_MAX UCHAR_MAX UCHAR_WIDTH UINT_MAX UINT_WIDTH ULLONG_MAX ULLONG_WIDTH "
    "ULONG_LONG_MAX ULONG_MAX ULONG_WIDTH USHRT_MAX USHRT_WIDTH WCONTINUED WEXITED "
    "WEXITSTATUS WIFCONTINUED WIFEXITED WIFSIGNALED WIFSTOPPED WNOHANG WNOWAIT WORD_BIT "
    "WSTOPPED WSTOPSIG WTERMSIG WUNTRACED XATTR_LIST_MAX XATTR_NAME_MAX XATTR_SIZE_MAX "
    "_ACRTIMP _ALIGNED_BUFFER_H _ALLOCATOR_H _ALLOCA_H _ALLOC_TRAITS_H _ANSI_STDDEF_H "
    "_ASSERT_H _ASSERT_H_DECLS _ATFILE_SOURCE _BACKWARD_BINDERS_H _BOOL _BSD_PTRDIFF_T_ "
    "_BSD_SIZE_T_ _BSD_SIZE_T_DEFINED_ _COMPARE _CONCEPT_CHECK_H _CPP_TYPE_TRAITS_H "
    "_CTYPE_H _DEFAULT_SOURCE _DYNAMIC_STACK_SIZE_SOURCE _ENABLE_SPECIAL_MEMBERS_H "
    "_ENDIAN_H _EXCEPTION_DEFINES_H _EXT_ALLOC_TRAITS_H _EXT_NUMERIC_TRAITS "
    "_EXT_TYPE_TRAITS _FEATURES_H _FUNCTEXCEPT_H _FUNCTIONAL_HASH_H _GNU_SOURCE "
    "_GXX_NULLPTR_T _HASHTABLE_H _HASHTABLE_POLICY_H _HASH_BYTES_H _INITIALIZER_LIST _IOFBF "
    "_IOLBF _IONBF _ISbit _ITERATOR_CONCEPTS_H _LARGEFILE64_SOURCE _LARGEFILE_SOURCE "
    "_LIMITS_H___ _LINUX_LIMITS_H _LP64 _MATH_H _MEMORYFWD_H _MOVE_H _NEW _NODE_HANDLE "
    "_OPENMP _PRINTF_NAN_LEN_MAX _PTRDIFF_T _PTRDIFF_T_ _PTRDIFF_T_DECLARED _PTR_TRAITS_H "
    "_RANGES_CMP_H _REENTRANT _RWLOCK_INTERNAL_H _SIGSET_NWORDS _SIZET_ _STDC_PREDEF_H "
    "_STDDEF_H _STDDEF_H_ _STDIO_H _STDLIB_H _STD_NEW_ALLOCATOR_H _STRINGS_H _STRING_H "
    "_STRUCT_TIMESPEC _THREAD_MUTEX_INTERNAL_H _THREAD_SHARED_TYPES_H _TIME_H _TYPEINFO "
    "_UNORDERED_MAP_H _USES_ALLOCATOR_H _VA_LIST_DEFINED _VECTOR_TCC __ABM__ __ADX__ "
    "__AES__ __ARRAY_OPERATORS __ASMNAME __ASMNAME2 __ASSERT_FUNCTION __ASSERT_STR_HELPER "
    "__ASSERT_VOID_CAST __ASSOCIATIVE_MATH__ __BASE_FILE__ __BEGIN_DECLS "
    "__BIGGEST_ALIGNMENT__ __BIG_ENDIAN __BIT_TYPES_DEFINED__ __BLKCNT64_T_TYPE "
    "__BLKCNT_T_TYPE __BLKSIZE_T_TYPE __BMI2__ __BMI__ __BYTE_ORDER __BYTE_ORDER__ "
    "__CFLOAT32 __CFLOAT32X __CFLOAT64 __CFLOAT64X __CHANNEL_DESCRIPTOR_H__ __CHAR16_TYPE__ "
    "__CHAR16_T_AND_CHAR32_T __CHAR32_TYPE__ __CHAR8_TYPE__ __CHAR_BIT__ __CLFLUSHOPT__ "
    "__CLOCKID_T_TYPE __CLOCK_T_TYPE __CLWB__ __CLZERO__ __COMPAR_FN_T __CONCAT "
    "__CORRECT_ISO_CPP_STRINGS_H_PROTO __CORRECT_ISO_CPP_STRING_H_PROTO __COUNTER__ "
    "__CPU_MASK_TYPE __CRC32__ __CUDANVVM__ __CUDART_API_PER_THREAD_DEFAULT_STREAM "
    "__DADDR_T_TYPE __DATE__ __DECIMAL_BID_FORMAT__ __DECIMAL_DIG__ __DEC_EVAL_METHOD__ "
    "__DEFINED_ptrdiff_t __DEFINED_size_t __DEFINED_wchar_t __DELETE_THROW __DEPRECATED "
    "__DEVICE_ATOMIC_FUNCTIONS_HPP__ __DEVICE_DOUBLE_FUNCTIONS_HPP__ "
    "__DEVICE_FUNCTIONS_HPP__ __DEV_T_TYPE __DRIVER_FUNCTIONS_H__ __ELF__ __END_DECLS "
    "__EXCEPTION_H __F16C__ __FAST_MATH__ __FDS_BITS __FILE_NAME__ __FILE_defined "
    "__FINITE_MATH_ONLY__ __FMA__ __FSBLKCNT64_T_TYPE __FSBLKCNT_T_TYPE __FSFILCNT64_T_TYPE "
    "__FSFILCNT_T_TYPE __FSGSBASE__ __FSID_T_TYPE __FSWORD_T_TYPE __FXSR__ __GFNI__ "
    "__GID_T_TYPE __GNUG__ __ID_T_TYPE __INCLUDE_LEVEL__ __INO64_T_TYPE "
    "__INO_T_MATCHES_INO64_T __INO_T_TYPE __IOV_MAX __KERNEL_OLD_TIMEVAL_MATCHES_TIMEVAL64 "
    "__KERNEL_STRICT_NAMES __KEY_T_TYPE __LAHF_SAHF__ __LDOUBLE_REDIRECTS_TO_FLOAT128_ABI "
    "__LEAF __LEAF_ATTR __LITTLE_ENDIAN __LOCK_ALIGNMENT __LZCNT__ __MATHCALLX "
    "__MATHCALL_VEC __MATHDECLX __MATHDECL_VEC __MATHREDIR __MODE_T_TYPE __MOVBE__ __N "
    "__NFDBITS __NLINK_T_TYPE __NTH __NTHNL __NVCC__ __NVRTC_DEVICE_RUNTIME_H__ "
    "__OFF64_T_TYPE __OFF_T_MATCHES_OFF64_T __OFF_T_TYPE __ONCE_ALIGNMENT __ONCE_FLAG_INIT "
    "__OPTIMIZE__ __P __PCLMUL__ __PDP_ENDIAN __PIC__ __PID_T_TYPE __PIE__ "
    "__PLACEMENT_DELETE __PMT __POPCNT__ __PRFCHW__ __PTR __RDPID__ __RDRND__ __RDSEED__ "
    "__RECIPROCAL_MATH__ __REGISTER_PREFIX__ __RLIM64_T_TYPE __RLIM_T_MATCHES_RLIM64_T "
    "__RLIM_T_TYPE __RTTI __SANITIZE_ADDRESS__ __SCHAR_MAX__ __SCHAR_WIDTH__ "
    "__SC_THREAD_STACK_MIN_VALUE __SEG_FS __SEG_GS __SHA__ __SHRT_MAX__ __SHRT_WIDTH__ "
    "__SHSTK__ __SIGNED_CHARS__ __SIMD_DECL __SLONG32_TYPE __SLONGWORD_TYPE __SQUAD_TYPE "
    "__SSIZE_T_TYPE __SSP__ __SSSE3__ __STATFS_MATCHES_STATFS64 __STRICT_ANSI__ __STRING "
    "__SUSECONDS64_T_TYPE __SUSECONDS_T_TYPE __SWORD_TYPE __THROW __THROWNL __TIME64_T_TYPE "
    "__TIMER_T_TYPE __TIMESIZE __TIMESTAMP__ __TIME_T_TYPE __TIME__ __U16_TYPE __U32_TYPE "
    "__U64_TYPE __UID_T_TYPE __ULONG32_TYPE __ULONGWORD_TYPE __UQUAD_TYPE __USECONDS_T_TYPE "
    "__USER_LABEL_PREFIX__ __UWORD_TYPE __VAES__ __VARIADIC_TEMPLATES "
    "__VECTOR_FUNCTIONS_HPP__ __VERSION__ __VPCLMULQDQ__ __WALL __WCLONE __WCOREDUMP "
    "__WCOREFLAG __WEXITSTATUS __WIFCONTINUED __WIFEXITED __WIFSIGNALED __WIFSTOPPED "
    "__WNOTHREAD __WORDSIZE __WORDSIZE_TIME64_COMPAT32 __WSTOPSIG __WTERMSIG __W_CONTINUED "
    "__W_EXITCODE __W_STOPCODE __XSAVEC__ __XSAVEOPT__ __XSAVES__ __XSAVE__ "
    "____FILE_defined ___int_ptrdiff_t_h ___int_size_t_h ___int_wchar_t_h __always_inline "
    "__amd64 __amd64__ __bos __bos0 __bswap_constant_16 __bswap_constant_32 "
    "__bswap_constant_64 __catch __code_model_small__ __errordecl __exctype __exctype_l "
    "__extern_always_inline __extern_inline __f32 __f32x __f64 __f64x __feof_unlocked_body "
    "__ferror_unlocked_body __flexarr __fortified_attr_access __fortify_function "
    "__getc_unlocked_body __gnu_linux__ __have_pthread_attr_t __isascii __iscanonical "
    "__iscanonicalf __isctype_f __isleap __itimerspec_defined __k8 __k8__ __linux __linux__ "
    "__noinline__ __nonnull __nv_register_params__ __pic__ __pie__ __ptr_t "
    "__putc_unlocked_body __restrict_arr __returns_nonnull __size_t __size_t__ "
    "__specialization_static __struct_FILE_defined __struct_tm_defined "
    "__throw_exception_again __timeval_defined __toascii __toascii_l __tobody __try "
    "__tune_znver3__ __u_char_defined __unix __unix__ __va_arg_pack __va_arg_pack_len "
    "__volatile__ __warnattr __wchar_t__ __wur __x86_64 __x86_64__ __znver3 __znver3__ "
    "_tolower _toupper alloca assert assert_perror be16toh be32toh be64toh htobe16 htobe32 "
    "htobe64 htole16 htole32 htole64 isalnum_l isalpha_l isascii isascii_l isblank_l "
    "iscntrl_l isdigit_l isgraph_l islower_l isprint_l ispunct_l isspace_l issubnormal "
    "isupper_l isxdigit_l le16toh le32toh le64toh linux math_errhandling offsetof stderr "
    "stdin stdout strdupa strndupa toascii toascii_l unix",
    "ADJ_": "ESTERROR FREQUENCY MAXERROR MICRO NANO OFFSET OFFSET_SINGLESHOT OFFSET_SS_READ "
    "SETOFFSET STATUS TAI TICK TIMECONST",
    "BC_": "BASE_MAX DIM_MAX SCALE_MAX STRING_MAX",
    "CHAR_": "BIT MAX MIN WIDTH",
    "CLOCK_": "BOOTTIME BOOTTIME_ALARM MONOTONIC MONOTONIC_COARSE MONOTONIC_RAW PROCESS_CPUTIME_ID "
    "REALTIME REALTIME_ALARM REALTIME_COARSE TAI THREAD_CPUTIME_ID",
    "FD_": "CLR ISSET SET SETSIZE ZERO",
    "FP_": "FAST_FMA FAST_FMAF ILOGB0 ILOGBNAN INFINITE INT_DOWNWARD INT_TONEAREST "
    "INT_TONEARESTFROMZERO INT_TOWARDZERO INT_UPWARD LLOGB0 LLOGBNAN NAN NORMAL SUBNORMAL "
    "ZERO",
    "HUGE_": "VAL VALF VALL VAL_F32 VAL_F32X VAL_F64 VAL_F64X",
    "LONG_": "BIT LONG_MAX LONG_MIN MAX MIN WIDTH",
    "MOD_": "CLKA CLKB ESTERROR FREQUENCY MAXERROR MICRO NANO OFFSET STATUS TAI TIMECONST",
    "NL_": "ARGMAX LANGMAX MSGMAX NMAX SETMAX TEXTMAX",
    "SEEK_": "CUR DATA END HOLE SET",
    "STA_": "CLK CLOCKERR DEL FLL FREQHOLD INS MODE NANO PLL PPSERROR PPSFREQ PPSJITTER PPSSIGNAL "
    "PPSTIME PPSWANDER RONLY UNSYNC",
    "_GCC_": "LIMITS_H_ MAX_ALIGN_T PTRDIFF_T SIZE_T WCHAR_T",
    "_SIZE_": "T T_ T_DECLARED T_DEFINED T_DEFINED_",
    "_T_": "PTRDIFF PTRDIFF_ SIZE SIZE_ WCHAR WCHAR_",
    "_WCHAR_": "T T_ T_DECLARED T_DEFINED T_DEFINED_ T_H",
    "__ATOMIC_": "ACQUIRE ACQ_REL CONSUME HLE_ACQUIRE HLE_RELEASE RELAXED RELEASE SEQ_CST",
    "__CUDACC_": "DEBUG__ EXTENDED_LAMBDA__ RDC__ RELAXED_CONSTEXPR__ RTC_BUILTIN_CRT_HELPERS__ "
    "RTC_BUILTIN_VECTOR_TYPES__ RTC__ VER__",
    "__CUDA_": "DEVICE_RUNTIME_API_H__ FTZ MATH_CRTIMP MINIMUM_ARCH__ PREC_DIV PREC_SQRT",
    "__DECL_": "SIMD_acos SIMD_acosf SIMD_acosf128 SIMD_acosf128x SIMD_acosf16 SIMD_acosf32 "
    "SIMD_acosf32x SIMD_acosf64 SIMD_acosf64x SIMD_acosh SIMD_acoshf SIMD_acoshf128 "
    "SIMD_acoshf128x SIMD_acoshf16 SIMD_acoshf32 SIMD_acoshf32x SIMD_acoshf64 "
    "SIMD_acoshf64x SIMD_acoshl SIMD_acosl SIMD_asin SIMD_asinf SIMD_asinf128 "
    "SIMD_asinf128x SIMD_asinf16 SIMD_asinf32 SIMD_asinf32x SIMD_asinf64 SIMD_asinf64x "
    "SIMD_asinh SIMD_asinhf SIMD_asinhf128 SIMD_asinhf128x SIMD_asinhf16 SIMD_asinhf32 "
    "SIMD_asinhf32x SIMD_asinhf64 SIMD_asinhf64x SIMD_asinhl SIMD_asinl SIMD_atan "
    "SIMD_atan2 SIMD_atan2f SIMD_atan2f128 SIMD_atan2f128x SIMD_atan2f16 SIMD_atan2f32 "
    "SIMD_atan2f32x SIMD_atan2f64 SIMD_atan2f64x SIMD_atan2l SIMD_atanf SIMD_atanf128 "
    "SIMD_atanf128x SIMD_atanf16 SIMD_atanf32 SIMD_atanf32x SIMD_atanf64 SIMD_atanf64x "
    "SIMD_atanh SIMD_atanhf SIMD_atanhf128 SIMD_atanhf128x SIMD_atanhf16 SIMD_atanhf32 "
    "SIMD_atanhf32x SIMD_atanhf64 SIMD_atanhf64x SIMD_atanhl SIMD_atanl SIMD_cbrt "
    "SIMD_cbrtf SIMD_cbrtf128 SIMD_cbrtf128x SIMD_cbrtf16 SIMD_cbrtf32 SIMD_cbrtf32x "
    "SIMD_cbrtf64 SIMD_cbrtf64x SIMD_cbrtl SIMD_cos SIMD_cosf SIMD_cosf128 SIMD_cosf128x "
    "SIMD_cosf16 SIMD_cosf32 SIMD_cosf32x SIMD_cosf64 SIMD_cosf64x SIMD_cosh SIMD_coshf "
    "SIMD_coshf128 SIMD_coshf128x SIMD_coshf16 SIMD_coshf32 SIMD_coshf32x SIMD_coshf64 "
    "SIMD_coshf64x SIMD_coshl SIMD_cosl SIMD_erf SIMD_erfc SIMD_erfcf SIMD_erfcf128 "
    "SIMD_erfcf128x SIMD_erfcf16 SIMD_erfcf32 SIMD_erfcf32x SIMD_erfcf64 SIMD_erfcf64x "
    "SIMD_erfcl SIMD_erff SIMD_erff128 SIMD_erff128x SIMD_erff16 SIMD_erff32 SIMD_erff32x "
    "SIMD_erff64 SIMD_erff64x SIMD_erfl SIMD_exp SIMD_exp10 SIMD_exp10f SIMD_exp10f128 "
    "SIMD_exp10f128x SIMD_exp10f16 SIMD_exp10f32 SIMD_exp10f32x SIMD_exp10f64 "
    "SIMD_exp10f64x SIMD_exp10l SIMD_exp2 SIMD_exp2f SIMD_exp2f128 SIMD_exp2f128x "
    "SIMD_exp2f16 SIMD_exp2f32 SIMD_exp2f32x SIMD_exp2f64 SIMD_exp2f64x SIMD_exp2l "
    "SIMD_expf SIMD_expf128 SIMD_expf128x SIMD_expf16 SIMD_expf32 SIMD_expf32x SIMD_expf64 "
    "SIMD_expf64x SIMD_expl SIMD_expm1 SIMD_expm1f SIMD_expm1f128 SIMD_expm1f128x "
    "SIMD_expm1f16 SIMD_expm1f32 SIMD_expm1f32x SIMD_expm1f64 SIMD_expm1f64x SIMD_expm1l "
    "SIMD_hypot SIMD_hypotf SIMD_hypotf128 SIMD_hypotf128x SIMD_hypotf16 SIMD_hypotf32 "
    "SIMD_hypotf32x SIMD_hypotf64 SIMD_hypotf64x SIMD_hypotl SIMD_log SIMD_log10 "
    "SIMD_log10f SIMD_log10f128 SIMD_log10f128x SIMD_log10f16 SIMD_log10f32 SIMD_log10f32x "
    "SIMD_log10f64 SIMD_log10f64x SIMD_log10l SIMD_log1p SIMD_log1pf SIMD_log1pf128 "
    "SIMD_log1pf128x SIMD_log1pf16 SIMD_log1pf32 SIMD_log1pf32x SIMD_log1pf64 "
    "SIMD_log1pf64x SIMD_log1pl SIMD_log2 SIMD_log2f SIMD_log2f128 SIMD_log2f128x "
    "SIMD_log2f16 SIMD_log2f32 SIMD_log2f32x SIMD_log2f64 SIMD_log2f64x SIMD_log2l "
    "SIMD_logf SIMD_logf128 SIMD_logf128x SIMD_logf16 SIMD_logf32 SIMD_logf32x SIMD_logf64 "
    "SIMD_logf64x SIMD_logl SIMD_pow SIMD_powf SIMD_powf128 SIMD_powf128x SIMD_powf16 "
    "SIMD_powf32 SIMD_powf32x SIMD_powf64 SIMD_powf64x SIMD_powl SIMD_sin SIMD_sincos "
    "SIMD_sincosf SIMD_sincosf128 SIMD_sincosf128x SIMD_sincosf16 SIMD_sincosf32 "
    "SIMD_sincosf32x SIMD_sincosf64 SIMD_sincosf64x SIMD_sincosl SIMD_sinf SIMD_sinf128 "
    "SIMD_sinf128x SIMD_sinf16 SIMD_sinf32 SIMD_sinf32x SIMD_sinf64 SIMD_sinf64x SIMD_sinh "
    "SIMD_sinhf SIMD_sinhf128 SIMD_sinhf128x SIMD_sinhf16 SIMD_sinhf32 SIMD_sinhf32x "
    "SIMD_sinhf64 SIMD_sinhf64x SIMD_sinhl SIMD_sinl SIMD_tan SIMD_tanf SIMD_tanf128 "
    "SIMD_tanf128x SIMD_tanf16 SIMD_tanf32 SIMD_tanf32x SIMD_tanf64 SIMD_tanf64x SIMD_tanh "
    "SIMD_tanhf SIMD_tanhf128 SIMD_tanhf128x SIMD_tanhf16 SIMD_tanhf32 SIMD_tanhf32x "
    "SIMD_tanhf64 SIMD_tanhf64x SIMD_tanhl SIMD_tanl SIMD_x86_64",
    "__FD_": "CLR ELT ISSET MASK SET SETSIZE ZERO",
    "__FP_": "FAST_FMA FAST_FMAF FAST_FMAF32 FAST_FMAF32x FAST_FMAF64 LOGB0_IS_MIN LOGBNAN_IS_MIN "
    "LONG_MAX",
    "__LONG_": "LONG_MAX__ LONG_PAIR LONG_WIDTH__ MAX__ WIDTH__",
    "__MATH_": "DECLARE_LDOUBLE EVAL_FMT2 FUNCTIONS_HPP__ TG",
    "__NO_": "CTYPE INLINE__ MATH_ERRNO__ SIGNED_ZEROS__ TRAPPING_MATH__",
    "__SIZE_": "MAX__ T TYPE__ T__ WIDTH__",
    "__attribute_": "alloc_align__ alloc_size__ artificial__ const__ copy__ deprecated__ "
    "deprecated_msg__ format_arg__ format_strfmon__ malloc__ maybe_unused__ noinline__ "
    "nonnull__ nonstring__ pure__ returns_twice__ used__ warn_unused_result__",
    "cudaStream": "FireAndForget GraphFireAndForget GraphFireAndForgetAsSibling "
    "GraphTailLaunch TailLaunch",
    "va_": "arg copy end start",
}

_SAME = {
    "": "CUDARTAPI CUDARTAPI_CDECL CUDART_CB CUDART_DEVICE CUDART_VERSION CUDA_IPC_HANDLE_SIZE "
    "CU_UUID_HAS_BEEN_DEFINED _CRTIMP __CLZLL_PARAMETER_TYPE __CLZ_PARAMETER_TYPE "
    "__CLZ_RETURN_TYPE __COMMON_FUNCTIONS_H__ __CUDACC__ __CUDART_API_PTDS "
    "__CUDART_API_PTSZ __CUDART_API_VERSION __DRIVER_TYPES_H__ __EXCEPTIONS __FILE__ "
    "__HOST_CONFIG_H__ __HOST_DEFINES_H__ __LIBRARY_TYPES_H__ __LINE__ __LP64__ "
    "__MATH_FUNCTIONS_H__ __NVCC_DIAG_PRAGMA_SUPPORT__ __PRAGMA_REDEFINE_EXTNAME "
    "__STDC_HOSTED__ __STDC__ __SURFACE_INDIRECT_FUNCTIONS_H__ __SURFACE_TYPES_H__ "
    "__TEXTURE_INDIRECT_FUNCTIONS_H__ __TEXTURE_TYPES_H__ __VECTOR_FUNCTIONS_H__ "
    "__VECTOR_TYPES_H__ __align__ __annotate__ __block_size__ __builtin_align__ __cdecl "
    "__cluster_dims__ __constant__ __cplusplus __cudart_builtin__ __device__ "
    "__device_builtin__ __device_builtin_surface_type__ __device_builtin_texture_type__ "
    "__experimental_foreign_decl__ __experimental_foreign_name__ __export__ __forceinline__ "
    "__global__ __grid_constant__ __host__ __import__ __inline_hint__ __launch_bounds__ "
    "__local_maxnreg__ __location__ __managed__ __maxnreg__ __no_return__ __nv_pure__ "
    "__shared__ __thread__ __tile__ __tile_builtin__ __tile_global__ "
    "cudaArrayColorAttachment cudaArrayCubemap cudaArrayDefault cudaArrayDeferredMapping "
    "cudaArrayLayered cudaArraySparse cudaArraySparsePropertiesSingleMipTail "
    "cudaArraySurfaceLoadStore cudaArrayTextureGather cudaCpuDeviceId "
    "cudaDevSmResourceGroupLocalityDomainIdAny cudaDeviceBlockingSync "
    "cudaDeviceLmemResizeToMax cudaDeviceMapHost cudaDeviceMask cudaDeviceScheduleAuto "
    "cudaDeviceScheduleBlockingSync cudaDeviceScheduleMask cudaDeviceScheduleSpin "
    "cudaDeviceScheduleYield cudaDeviceSyncMemops cudaEventBlockingSync cudaEventDefault "
    "cudaEventDisableTiming cudaEventInterprocess cudaEventRecordDefault "
    "cudaEventRecordExternal cudaEventWaitDefault cudaEventWaitExternal "
    "cudaExternalMemoryDedicated cudaExternalSemaphoreSignalSkipNvSciBufMemSync "
    "cudaExternalSemaphoreWaitSkipNvSciBufMemSync cudaGraphKernelNodePortDefault "
    "cudaGraphKernelNodePortLaunchCompletion cudaGraphKernelNodePortProgrammatic "
    "cudaHostAllocDefault cudaHostAllocMapped cudaHostAllocPortable "
    "cudaHostAllocWriteCombined cudaHostRegisterDefault cudaHostRegisterIoMemory "
    "cudaHostRegisterMapped cudaHostRegisterPortable cudaHostRegisterReadOnly "
    "cudaInitDeviceFlagsAreValid cudaInvalidDeviceId cudaIpcMemLazyEnablePeerAccess "
    "cudaKernelNodeAttrID cudaKernelNodeAttrValue cudaKernelNodeAttributeAccessPolicyWindow "
    "cudaKernelNodeAttributeClusterDimension "
    "cudaKernelNodeAttributeClusterSchedulingPolicyPreference "
    "cudaKernelNodeAttributeCooperative cudaKernelNodeAttributeDeviceUpdatableKernelNode "
    "cudaKernelNodeAttributeMemSyncDomain cudaKernelNodeAttributeMemSyncDomainMap "
    "cudaKernelNodeAttributeNvlinkUtilCentricScheduling "
    "cudaKernelNodeAttributePreferredSharedMemoryCarveout cudaKernelNodeAttributePriority "
    "cudaMemAttachGlobal cudaMemAttachHost cudaMemAttachSingle "
    "cudaMemPoolCreateUsageHwDecompress cudaNvSciSyncAttrSignal cudaNvSciSyncAttrWait "
    "cudaOccupancyDefault cudaOccupancyDisableCachingOverride cudaPeerAccessDefault "
    "cudaStreamAttrID cudaStreamAttrValue cudaStreamAttributeAccessPolicyWindow "
    "cudaStreamAttributeMemSyncDomain cudaStreamAttributeMemSyncDomainMap "
    "cudaStreamAttributePriority cudaStreamAttributeSynchronizationPolicy cudaStreamDefault "
    "cudaStreamLegacy cudaStreamNonBlocking cudaStreamPerThread cudaSurfaceType1D "
    "cudaSurfaceType1DLayered cudaSurfaceType2D cudaSurfaceType2DLayered cudaSurfaceType3D "
    "cudaSurfaceTypeCubemap cudaSurfaceTypeCubemapLayered cudaTextureType1D "
    "cudaTextureType1DLayered cudaTextureType2D cudaTextureType2DLayered cudaTextureType3D "
    "cudaTextureTypeCubemap cudaTextureTypeCubemapLayered",
    "__CUDACC_": "DEVICE_ATOMIC_BUILTINS__ VER_BUILD__ VER_MAJOR__ VER_MINOR__",
    "__CUDA_": "API_VER_MAJOR__ API_VER_MINOR__ ARCH_FAMILY_SPECIFIC__ ARCH_HAS_FEATURE__ "
    "ARCH_LIST__ ARCH_SPECIFIC__ ARCH__ HAS_ARCH_FAMILY_SPECIFIC HAS_ARCH_SPECIFIC RUNTIME_API_H__ "
    "RUNTIME_H__",
    "__DEVICE_": "ATOMIC_FUNCTIONS_H__ DOUBLE_FUNCTIONS_H__ FUNCTIONS_H__ LAUNCH_PARAMETERS_H__ "
    "TYPES_H__",
    "__NV_": "ATOMIC_ADDRESSOF ATOMIC_RET ATOMIC_TEMP ATOMIC_TRIVIALLY_COPYABLE "
    "GLIBC_PROVIDES_IEC_60559_FUNCS TL_BUILTIN__ TL__",
    "__SM_": "100_RT_H__ 30_INTRINSICS_H__ 32_INTRINSICS_H__ 35_ATOMIC_FUNCTIONS_H__ "
    "35_INTRINSICS_H__ 80_RT_H__ 90_RT_H__",
    "__cpp_": "aggregate_bases aggregate_nsdmi aggregate_paren_init alias_templates aligned_new "
    "attributes capture_star_this concepts conditional_explicit constexpr_dynamic_alloc "
    "constexpr_in_decltype constinit decltype decltype_auto deduction_guides "
    "delegating_constructors designated_initializers digit_separators enumerator_attributes "
    "exceptions fold_expressions generic_lambdas guaranteed_copy_elision if_constexpr "
    "impl_destroying_delete impl_three_way_comparison inheriting_constructors init_captures "
    "initializer_lists inline_variables lambdas namespace_attributes "
    "nested_namespace_definitions noexcept_function_type nontype_template_args "
    "nontype_template_parameter_auto nsdmi range_based_for raw_strings ref_qualifiers "
    "return_type_deduction rtti rvalue_references sized_deallocation static_assert "
    "structured_bindings threadsafe_static_init unicode_literals user_defined_literals "
    "using_enum variable_templates variadic_templates variadic_using",
    "__cudaGet_": "blockDim blockIdx gridDim threadIdx warpSize",
}


def _names(groups: Mapping[str, str]) -> frozenset[bytes]:
    return frozenset(
        f"{prefix}{rest}".encode() for prefix, words in groups.items() for rest in words.split()
    )


DIFFERENT = _names(_DIFFERENT)
"""Names that only one of them defines, or that have different replacements."""

SAME = _names(_SAME)
"""Names that both define with the same replacement."""

MEASURED = (13, 5)
"""The NVRTC version that the tables describe."""

ALWAYS = frozenset(
    b"__CUDACC__ __CUDA_ARCH__ __cplusplus __FILE__ __LINE__ __CUDACC_VER_MAJOR__ "
    b"__CUDACC_VER_MINOR__ __global__ __device__ __host__ __shared__ __constant__ __managed__ "
    b"__forceinline__ __launch_bounds__ __align__ __grid_constant__ __cluster_dims__".split()
)
"""Names in `SAME` that every NVRTC defines like nvcc of its version."""

RESERVED = re.compile(
    rb"__(?:has_|cpp_|GNUC_[A-Z]|GXX_|GCC_|GLIBC|GNU_|USE_|STDC|FLT|DBL_|LDBL_|BFLT|DEC\d|SIZEOF_|U?INT|WCHAR_|WINT_)"
    rb"|__(?:SIG_ATOMIC_|PTRDIFF_|ORDER_|FLOAT_|HAVE_|SSE|AVX|MMX|NV_|EDG|glibc|REDIRECT|S\d+_|LC_|SM_\d|cudaCDP2)"
    rb"|__(?:stub_|attr_|SYSCALL_|PTHREAD|pthread)|__\w+_t_defined$|__is\w+_l$"
    rb"|_(?:GLIBCXX|POSIX|XOPEN|BITS|NV_|STL_|ISOC|GTHREAD|IO_|LIBC|SYS_|XBS5|PSTL)"
    rb"|M_(?:E|LOG2E|LOG10E|LN2|LN10|PI|PI_2|PI_4|1_PI|2_PI|2_SQRTPI|SQRT2|SQRT1_2)(?:f(?:\d+x?)?|l)?$"
)
"""Families of names reserved for implementations: different, unless in `SAME`."""

ALIKE = re.compile(
    rb"__noinline__$|__volatile__$|assert$|va_(?:arg|copy|end|start)$|__THROW$|NV_"
    rb"|cudaStream(?:Graph)?(?:FireAndForget|FireAndForgetAsSibling|TailLaunch)$"
)
"""Spelled differently by the two, but equivalent in use: NVRTC's ``assert`` calls ``__assertfail``
like nvcc's, ``<nv/target>`` is built into NVRTC, and so are the streams of device launches, as
other expressions for the same numbers."""

_LIKELY = re.compile(
    rb"__[A-Z0-9_]+__$|_[A-Z][A-Z0-9_]*_SOURCE$|_(?:OPENMP|REENTRANT|LP64)$"
    rb"|__(?:linux|unix|gnu_linux|x86|amd|k8|i[3-6]86|znver|tune|arm|aarch|pic|pie|clang|code_model)"
)
"""Names that a host compiler probably defines, unless the text itself does."""

NOT_DEFINED = re.compile(
    rb"_WIN32|_WIN64|__WIN32__|_MSC_VER|__MINGW(?:32|64)__|__CYGWIN__|__APPLE__|__MACH__"
    rb"|__clang\w*|__INTEL\w*|__ICC|__ICL|__PGIC?__|__NVCOMPILER|__HIP\w*|__HCC\w*"
    rb"|__SYCL\w*|__OPENCL\w*|__ANDROID__|__(?:Free|Net|Open)BSD__|__sun|__SVR4|__IBMC\w*"
    rb"|__xl[Cc]__|_AIX|__GFX\w*|__AMDGCN\w*|__MUSA\w*|__EMSCRIPTEN__|__BORLANDC__|__SUNPRO_CC"
    rb"|_DEBUG|__DEBUG__|__CUDA__|__CUDACC_DEBUG__|__CUDA_NO_\w+"
    + (rb"|__ARM\w*|__aarch64__|__arm__" if platform.machine() == "x86_64" else b"")
    + rb"|_Alignas|_Alignof|_Generic|_Static_assert|_Thread_local"
)
"""Names of other compilers, systems and processors and keywords of C, which neither nvcc with GCC
nor NVRTC defines, and names that options define for both."""

NO_MACROS = frozenset(
    b"defined true false and or not bitand bitor xor compl __VA_ARGS__ __VA_OPT__ "
    b"__FUNCTION__ __PRETTY_FUNCTION__ __FUNCSIG__ __func__".split()
)
_SAME_FAMILY = re.compile(rb"__CUDA_ARCH_FEAT_SM\d+_ALL$")
FUNCTIONS = frozenset(
    b"pow signbit isnan isinf isfinite isnormal noexcept push_macro pop_macro "
    b"__LINE__ __FILE__".split()
)
"""Words that are not macros but that NVRTC interprets differently from nvcc, such as functions with
other overloads (`lmemscope.sources.unlike_nvcc`)."""

_OF_FLOATS = (
    "sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh atan2 exp exp2 exp10 expm1 log "
    "log2 log10 log1p logb sqrt cbrt hypot erf erfc lgamma tgamma fmod remainder remquo copysign "
    "nextafter fdim fma fmax fmin fabs ceil floor rint lrint llrint round lround llround nearbyint "
    "trunc ldexp scalbn scalbln frexp modf ilogb sincos pow rsqrt j0 j1 jn y0 y1 yn"
)
LIBRARY_FUNCTIONS = frozenset(f"{name}f".encode() for name in _OF_FLOATS.split()) | frozenset(
    b"memcpy memset memcmp memmove malloc free printf labs llabs clock strlen strcmp strncmp "
    b"strcpy strncpy strcat strncat strchr".split()
)
"""Host library functions that device code may call; those with overloads have no type."""


def may_differ(name: bytes) -> bool:
    """Whether a word in a text may be a macro that differs between NVRTC and nvcc."""
    if name in DIFFERENT:
        return True
    if name in SAME or name in NO_MACROS or name[:1] not in b"_MNv":
        return False
    return (
        ALIKE.match(name) is not None
        or RESERVED.match(name) is not None
        or _LIKELY.match(name) is not None
    ) and _SAME_FAMILY.match(name) is None


def is_different(name: bytes) -> bool:
    """Whether a name is a differing implementation macro, whatever the text itself defines."""
    return name in DIFFERENT or RESERVED.match(name) is not None


def is_likely(name: bytes) -> bool:
    """Whether a host compiler probably defines a name, unless the text itself does."""
    return _LIKELY.match(name) is not None


def is_unknown(name: bytes, other_host: bool) -> bool:
    """Whether a name tested in a condition may be defined by a compiler or its headers."""
    if name in SAME or name in NO_MACROS or _SAME_FAMILY.match(name) is not None:
        return False
    if not other_host and NOT_DEFINED.fullmatch(name) is not None:
        return False
    return b"__" in name or re.match(rb"_[A-Z]", name) is not None
