// SPDX-License-Identifier: GPL-2.0-or-later
function work(n) {
	let total = 0;
	const found = {};
	for (let i = 0; i < n; i++) {
		total = (total + i * i) % 1000003;
		found[i % 50] = String(total);
	}
	return total + JSON.stringify(found).length;
}

function deep(n) {
	return n ? deep(n - 1) + 1 : work(2000);
}

for (let turn = 0; turn < 300; turn++)
	deep(20);
console.log("ready");
for (;;)
	deep(20);
