#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# work.sh DIR - what tools/demo/run records of the distribution's own programs
#
# A shell script with sqlite3, git, gawk, jq, python3, xz, tar, gzip, sort, sha256sum, grep, sed and find. It works in DIR,
# which it makes. work.sh --programs prints the programs.

set -eu

programs='bash cat find gawk git grep gzip head jq mkdir python3 rm sed seq sha256sum sort sqlite3 tail tar uniq wc xz'
[ "$1" != --programs ] || { echo "$programs"; exit; }
dir=$1

make_rows() { seq 1 20000 | gawk '{ printf "%d,%d,name %d\n", $1, ($1 * 7919) % 1009, $1 % 97 }' >rows; }

ask_database() {
	sqlite3 :memory: <<-'END'
		create table r (id int, k int, name text);
		.mode csv
		.import rows r
		select k, count(*), max(name) from r where name like '%7%' group by k order by 2 desc limit 5;
		select count(*) from r a join r b on a.k = b.id;
	END
}

group_objects() {
	gawk -F, '{ printf "{\"id\":%d,\"k\":%d,\"name\":\"%s\"}\n", $1, $2, $3 }' rows >objects
	jq -cs 'group_by(.k) | map({k: .[0].k, n: length, names: map(.name) | unique}) | length' objects
	python3 - <<-'END'
		import json, re
		rows = [json.loads(line) for line in open("objects")]
		names = {}
		for row in sorted(rows, key=lambda row: row["name"]):
		    names.setdefault(re.sub(r"\d+", lambda found: f"<{found[0]}>", row["name"]), []).append(row["k"])
		print(len(json.dumps(names)))
	END
}

compress_files() {
	xz -1 -T2 -k -c rows objects | wc -c
	tar -cf - rows objects | gzip | gzip -dc | tar -tf -
}

keep_history() {
	local i
	export GIT_CONFIG_NOSYSTEM=1 HOME="$PWD"
	git -c init.defaultBranch=main init -q --template= repository
	(
		cd repository
		git config user.name demo
		git config user.email demo@localhost
		for i in 1 2 3; do
			head -n $((i * 3000)) ../rows >rows
			git add rows
			git commit -qm "rows $i"
		done
		git log -p --stat | wc -l
		git gc -q
		git grep -c 'name 7'
	)
	rm -rf repository
}

search_texts() {
	sort -t, -k3,3 -k2n rows | sha256sum
	grep -cE 'name (7|9)+$' rows
	find /usr/lib -name '*.so*' | sed 's/.*\///' | sort | uniq -c | tail -n 1
}

mkdir "$dir"
cd "$dir"
{
	make_rows
	ask_database
	group_objects
	compress_files
	keep_history
	search_texts
} >/dev/null
cd /
rm -r "$dir"
