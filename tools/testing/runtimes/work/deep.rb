# SPDX-License-Identifier: GPL-2.0-or-later
def work
  total = 0
  20000.times { |i| total = (total + i * i) % 1000003 }
  total
end

def deep(n)
  n.zero? ? work : deep(n - 1) + 1
end

5.times { deep(20) }
puts "ready"
$stdout.flush
loop { deep(20) }
