#!/bin/sh
# Records what Nsight Compute prints of the programs beside this script: on a machine with a GPU, a
# CUDA toolkit and CuPy, from the root of the checkout.
#
#   tests/support/ncu/record_ncu.sh [NCU]
#
# Writes tests/support/data/ncu/VERSION/NAME.{raw,sass,details}.csv.gz and kernels.ncu-rep.gz. The
# analysis that the recordings are joined with needs no GPU:
#
#   lmemscope scan SOURCES --arch sm_90 --accesses --format json | gzip -9n > report.json.gz
#
# SOURCES: kernels/running_mean_app.cu kernels/histogram.cu kernels/thirty_doubles.cu
# kernels/printing.cu benchmarks/sectors.cu kernels/rolled_loop.cu kernels/large_array.cu
# kernels/constant_table.cu kernels/call_with_array.cu kernels/callee_saves.cu
set -eu
ncu=${1:-ncu}
version=$("$ncu" --version | sed -n 's/^Version \([0-9]*\.[0-9]*\.[0-9]*\).*/\1/p')
here=tests/support/ncu
out=tests/support/data/ncu/$version
work=$(mktemp -d)
mkdir -p "$out"
metrics=$(python3 -c 'from lmemscope.analysis.counters import METRICS; print(",".join(METRICS))')

record() {
  name=$1
  shift
  # The program's own exit status is passed on, and that of one is 7.
  "$ncu" --clock-control none --target-processes all --section SourceCounters --metrics "$metrics" \
    --log-file "$work/$name.log" -f -o "$work/$name" "$@" || true
  "$ncu" --import "$work/$name.ncu-rep" --csv --page raw --print-units base \
    --print-kernel-base mangled | gzip -9n > "$out/$name.raw.csv.gz"
  "$ncu" --import "$work/$name.ncu-rep" --csv --page source --print-units base |
    gzip -9n > "$out/$name.sass.csv.gz"
}

build() {
  nvcc -std=c++17 -O3 -arch=sm_90 -lineinfo -o "$work/app" "$1"
}

build kernels/running_mean_app.cu && record running_mean "$work/app"
for name in histogram spill printing; do
  build "$here/${name}_app.cu" && record "$name" "$work/app"
done
record sectors python3 benchmarks/sectors.py run
record kernels python3 "$here/kernels_run.py" kernels
build "$here/histogram_app.cu"
"$ncu" --clock-control none --metrics "$metrics" --csv "$work/app" 2> "$work/log" |
  gzip -9n > "$out/histogram.details.csv.gz"
gzip -9nc "$work/kernels.ncu-rep" > "$out/kernels.ncu-rep.gz"
rm -r "$work"
