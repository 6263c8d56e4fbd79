# SPDX-License-Identifier: GPL-2.0-or-later
# What stock programs of the virtual machine do while they are sampled. With "short": some of it.
bash -c 'f() { local i; for ((i = 0; i < 1500; i++)); do x=${i/1/2}; done; }; g() { f; }; g; x=$(g)'
perl -e 'sub f { my $n = shift; $n < 2 ? $n : f($n - 1) + f($n - 2) } print f(16), "\n";
	my %c; $c{$_ % 97}++ for 1 .. 20000; print join(",", sort { $a <=> $b } keys %c), "\n"'
[ "${1:-}" != short ] || exit 0
python3 -c 'print(sum(len(str(i)) for i in range(40000)), sorted(str(i) for i in range(5000))[77])'
echo 'int f(int n) { return n < 2 ? n : f(n - 1) + f(n - 2); } int main(void) { return f(20); }' >/tmp/work.c
gcc -O2 -o /tmp/work /tmp/work.c
xz -T2 -6 -c /usr/bin/bash | wc -c
awk 'BEGIN { for (i = 0; i < 20000; i++) { s = s substr("abc", i % 3 + 1, 1); if (length(s) > 50) s = "" } print s }'
ls -lR /usr/share/perl* | sort -r | tail -n 1
openssl speed -seconds 1 -bytes 64 sha256 aes-128-cbc 2>/dev/null
(trap "x=1" USR1; for ((i = 0; i < 60; i++)); do kill -USR1 $BASHPID; done)
