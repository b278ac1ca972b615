#!/bin/sh
# Records what another version of Nsight Compute prints of the profile that record_ncu.sh kept. An
# ncu that no longer runs kernels with today's drivers still reads profiles; it needs no GPU.
#
#   tests/support/ncu/print_ncu.sh NCU
#
# Writes tests/support/data/ncu/VERSION/kernels.{raw,sass,details}.csv.gz.
set -eu
ncu=$1
data=tests/support/data/ncu
version=$("$ncu" --version | sed -n 's/^Version \([0-9]*\.[0-9]*\.[0-9]*\).*/\1/p')
work=$(mktemp -d)
mkdir -p "$data/$version"
gunzip -c "$data/2025.3.1/kernels.ncu-rep.gz" > "$work/kernels.ncu-rep"

print() {
  name=$1
  shift
  "$ncu" --import "$work/kernels.ncu-rep" --csv "$@" > "$work/$name"
  gzip -9nc "$work/$name" > "$data/$version/kernels.$name.csv.gz"
}

print raw --page raw --print-units base --print-kernel-base mangled
print sass --page source --print-units base
print details --page details
rm -r "$work"
