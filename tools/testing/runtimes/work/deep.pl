# SPDX-License-Identifier: GPL-2.0-or-later
use strict;

sub work {
	my $total = 0;
	$total = ($total + $_ * $_) % 1000003 for 1 .. 20000;
	return $total;
}

sub deep {
	my $n = shift;
	return $n ? deep($n - 1) + 1 : work();
}

deep(20) for 1 .. 5;
$| = 1;
print "ready\n";
deep(20) while 1;
