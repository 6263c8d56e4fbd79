<?php
// SPDX-License-Identifier: GPL-2.0-or-later
function work() {
	$total = 0;
	for ($i = 0; $i < 20000; $i++) {
		$total = ($total + $i * $i) % 1000003;
	}
	return $total + strlen(str_repeat("x", $total % 10));
}

function deep($n) {
	return $n ? deep($n - 1) + 1 : work();
}

for ($turn = 0; $turn < 300; $turn++) {
	deep(20);
}
echo "ready\n";
while (true) {
	deep(20);
}
