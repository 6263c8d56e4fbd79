# SPDX-License-Identifier: GPL-2.0-or-later
# Work for perl: recursion, sorting, regular expressions, formats, a signal, eval and die.
use strict;
use warnings;
use POSIX qw(floor);

sub fib { my ($n) = @_; return $n < 2 ? $n : fib($n - 1) + fib($n - 2) }

my $caught = 0;
$SIG{USR1} = sub { $caught++ };
kill 'USR1', $$;
my %count;
$count{$_}++ for map { floor(sqrt $_) % 7 } 1 .. 200;
my $text = join ',', map { "$_=$count{$_}" } sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
$text =~ s/(\d)=(\d+)/sprintf "%s:%03d", $1, $2/ge;
eval { die { code => fib(9) } };
print "$text $caught $@->{code}\n";
