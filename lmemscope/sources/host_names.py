"""Names declared by the headers that nvcc reads before a source, but differently by NVRTC.

nvcc reads headers of its host compiler, the C library and the CUDA runtime first. If a source looks
up a name that only they declare, in a way that may fail, NVRTC cannot tell the result. Measured
with nvcc and NVRTC 13.5, GCC 12.2 and glibc 2.36 (`tests/toolchain/test_host_names.py` queries the
installed ones).
"""

from __future__ import annotations

import re

_OF_HOST = (
    "FILE FP_INFINITE FP_INT_DOWNWARD FP_INT_TONEAREST FP_INT_TONEARESTFROMZERO "
    "FP_INT_TOWARDZERO FP_INT_UPWARD FP_NAN FP_NORMAL FP_SUBNORMAL FP_ZERO a64l abort acoshl "
    "acosl aligned_alloc alloca arc4random arc4random_buf arc4random_uniform asctime asctime_r "
    "asinhl asinl asprintf at_quick_exit atan2l atanhl atanl atexit atof atoi atol atoll "
    "basename bcmp bcopy blkcnt64_t blkcnt_t blksize_t bsearch bzero caddr_t calloc "
    "canonicalize canonicalize_file_name canonicalizef canonicalizel cbrtl ceill clearenv "
    "clearerr clearerr_unlocked clock_adjtime clock_getcpuclockid clock_getres clock_gettime "
    "clock_nanosleep clock_settime clockid_t comparison_fn_t cookie_close_function_t "
    "cookie_io_functions_t cookie_read_function_t cookie_seek_function_t "
    "cookie_write_function_t copysignl coshl cosl ctermid ctime ctime_r cuserid daddl daddr_t "
    "daylight ddivl dev_t dfmal difftime div div_t dmull double_t dprintf drand48 drand48_data "
    "drand48_r drem dremf dreml dsqrtl dsubl dysize ecvt ecvt_r erand48 erand48_r erfcl erfl "
    "exit exp10l exp2l expl explicit_bzero expm1l fabsl fadd faddl fclose fcloseall fcvt fcvt_r "
    "fd_mask fd_set fdiml fdiv fdivl fdopen feof feof_unlocked ferror ferror_unlocked fflush "
    "fflush_unlocked ffma ffmal ffs ffsl ffsll fgetc fgetc_unlocked fgetpos fgetpos64 fgets "
    "fgets_unlocked fileno fileno_unlocked finite finitef finitel float_t flockfile floorl fmal "
    "fmaximum fmaximum_mag fmaximum_mag_num fmaximum_mag_numf fmaximum_mag_numl fmaximum_magf "
    "fmaximum_magl fmaximum_num fmaximum_numf fmaximum_numl fmaximumf fmaximuml fmaxl fmaxmag "
    "fmaxmagf fmaxmagl fmemopen fminimum fminimum_mag fminimum_mag_num fminimum_mag_numf "
    "fminimum_mag_numl fminimum_magf fminimum_magl fminimum_num fminimum_numf fminimum_numl "
    "fminimumf fminimuml fminl fminmag fminmagf fminmagl fmodl fmul fmull fopen fopen64 "
    "fopencookie fpclassify fpos64_t fpos_t fprintf fputc fputc_unlocked fputs fputs_unlocked "
    "fread fread_unlocked freopen freopen64 frexpl fromfp fromfpf fromfpl fromfpx fromfpxf "
    "fromfpxl fsblkcnt64_t fsblkcnt_t fscanf fseek fseeko fseeko64 fsetpos fsetpos64 "
    "fsfilcnt64_t fsfilcnt_t fsid_t fsqrt fsqrtl fsub fsubl ftell ftello ftello64 ftrylockfile "
    "funlockfile fwrite fwrite_unlocked gamma gammaf gammal gcvt getc getc_unlocked getchar "
    "getchar_unlocked getdate getdate_err getdate_r getdelim getenv getline getloadavg "
    "getpayload getpayloadf getpayloadl getpt getsubopt getw gid_t gmtime gmtime_r grantpt "
    "hypotl id_t ilogbl index initstate initstate_r ino64_t ino_t int16_t int32_t int64_t "
    "int8_t isalnum isalnum_l isalpha isalpha_l isascii isblank isblank_l iscanonical iscntrl "
    "iscntrl_l isctype isdigit isdigit_l iseqsig isgraph isgraph_l isgreater isgreaterequal "
    "isinff isinfl isless islessequal islessgreater islower islower_l isnanf isnanl isnormal "
    "isprint isprint_l ispunct ispunct_l issignaling isspace isspace_l isunordered isupper "
    "isupper_l isxdigit isxdigit_l iszero itimerspec j0l j1l jnl jrand48 jrand48_r key_t l64a "
    "lcong48 lcong48_r ldexpl ldiv ldiv_t lgamma_r lgammaf_r lgammal lgammal_r lldiv lldiv_t "
    "llogb llogbf llogbl llrintl llroundl locale_t localtime localtime_r loff_t log10l log1pl "
    "log2l logbl logl lrand48 lrand48_r lrintl lroundl make_cudaExtent make_cudaPitchedPtr "
    "make_cudaPos make_long4_16a make_long4_32a make_ulong4_16a make_ulong4_32a max_align_t "
    "mblen mbstowcs mbtowc memccpy memchr memcmp memfrob memmem memmove mempcpy memrchr mkdtemp "
    "mkostemp mkostemp64 mkostemps mkostemps64 mkstemp mkstemp64 mkstemps mkstemps64 mktemp "
    "mktime mode_t modfl mrand48 mrand48_r nanl nanosleep nearbyintl nextafterl nextdown "
    "nextdownf nextdownl nexttoward nexttowardf nexttowardl nextup nextupf nextupl nlink_t "
    "nrand48 nrand48_r nullptr_t obstack obstack_printf obstack_vprintf off64_t off_t on_exit "
    "open_memstream pclose perror pid_t popen posix_memalign posix_openpt powl pselect "
    "pthread_attr_t pthread_barrier_t pthread_barrierattr_t pthread_cond_t pthread_condattr_t "
    "pthread_key_t pthread_mutex_t pthread_mutexattr_t pthread_once_t pthread_rwlock_t "
    "pthread_rwlockattr_t pthread_spinlock_t pthread_t ptsname ptsname_r putc putc_unlocked "
    "putchar putchar_unlocked putenv puts putw qecvt qecvt_r qfcvt qfcvt_r qgcvt qsort qsort_r "
    "quad_t quick_exit rand rand_r random random_data random_r rawmemchr realloc reallocarray "
    "realpath register_t remainderl remove remquol rename renameat renameat2 rewind rindex "
    "rintl roundeven roundevenf roundevenl roundl rpmatch scalb scalbf scalbl scalblnl scalbnl "
    "scanf secure_getenv seed48 seed48_r select setbuf setbuffer setenv setlinebuf setpayload "
    "setpayloadf setpayloadl setpayloadsig setpayloadsigf setpayloadsigl setstate setstate_r "
    "setvbuf sigabbrev_np sigdescr_np sigevent signgam significand significandf significandl "
    "sigset_t sincosl sinhl sinl snprintf sprintf sqrtl srand srand48 srand48_r srandom "
    "srandom_r sscanf ssize_t stderr stdin stdout stpcpy stpncpy strcasecmp strcasecmp_l "
    "strcasestr strcat strchr strchrnul strcmp strcoll strcoll_l strcpy strcspn strdup strerror "
    "strerror_l strerror_r strerrordesc_np strerrorname_np strfromd strfromf strfroml strfry "
    "strftime strftime_l strlen strncasecmp strncasecmp_l strncat strncmp strncpy strndup "
    "strnlen strpbrk strptime strptime_l strrchr strsep strsignal strspn strstr strtod strtod_l "
    "strtof strtof_l strtok strtok_r strtol strtol_l strtold strtold_l strtoll strtoll_l strtoq "
    "strtoul strtoul_l strtoull strtoull_l strtouq strverscmp strxfrm strxfrm_l suseconds_t "
    "system tanhl tanl tempnam tgammal time time_t timegm timelocal timer_create timer_delete "
    "timer_getoverrun timer_gettime timer_settime timer_t timespec timespec_get timespec_getres "
    "timeval timex timezone tm tmpfile tmpfile64 tmpnam tmpnam_r toascii tolower tolower_l "
    "totalorder totalorderf totalorderl totalordermag totalordermagf totalordermagl toupper "
    "toupper_l truncl tzname tzset u_char u_int u_int16_t u_int32_t u_int64_t u_int8_t u_long "
    "u_quad_t u_short ufromfp ufromfpf ufromfpl ufromfpx ufromfpxf ufromfpxl uid_t uint ulong "
    "ungetc unlockpt unsetenv useconds_t ushort valloc vasprintf vdprintf vfprintf vfscanf "
    "vprintf vscanf vsnprintf vsprintf vsscanf wcstombs wctomb y0l y1l ynl"
)
HOST_NAMES = frozenset(name.encode() for name in _OF_HOST.split())
"""Global functions, types and objects that only nvcc's headers declare."""

HOST_FAMILIES = re.compile(
    rb"[a-z0-9]{2,12}f(?:32|64)x?(?:_[lr])?$|fm(?:ax|in)imum\w*$|cuda[A-Z]\w*$"
)
"""Mathematical functions on the C library's own types, and the CUDA runtime; NVRTC declares some.
"""

OTHER_RESULTS = frozenset(
    b"atan2 fdim fma fmax fmin fmod hypot isfinite isinf isnan nextafter pow remainder remquo "
    b"signbit".split()
)
"""Functions that both declare, but whose result type differs for some arguments: for NVRTC,
``fmod`` of a ``float`` and an ``int`` is a ``float``."""

OTHER_OVERLOADS = frozenset(
    b"abs acos acosh asin asinh atan atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 "
    b"fabs floor frexp ilogb ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround "
    b"nearbyint rint round scalbln scalbn sin sinh sqrt tan tanh tgamma trunc".split()
)
"""Functions that both declare, but for which NVRTC rejects some arguments that nvcc accepts, such
as ``sqrt`` of an ``int``: a source can test whether a call is valid."""

OTHER_INTEGERS = re.compile(rb"u?int(?:64|_least64|_fast(?:16|32|64)|max|ptr)_t")
"""Types that toolkit headers take from the C library only for nvcc: ``long`` is not ``long long``,
though both have 64 bits."""

SAME_BUILTINS = frozenset(
    b"__builtin_assume __builtin_assume_aligned __builtin_expect "
    b"__builtin_unreachable __is_base_of __is_class __is_convertible_to __is_empty __is_enum "
    b"__is_pod __is_polymorphic __is_trivially_copyable __is_union".split()
)
"""Built-in functions and queries that both answer identically."""

DIRECTIVES = frozenset(
    b"if ifdef ifndef elif else endif define undef include pragma error warning line".split()
)
"""Directives that both obey."""

ASKING = frozenset(b"std decltype requires typeid __typeof__ typeof".split())
"""Words by which a source refers to such names, or tests what a lookup finds."""
