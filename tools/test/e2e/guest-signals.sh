# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2154 # guest.sh sets scratch
#
# guest-signals.sh - stacks through signal handlers, the vDSO and libraries that come and go; see signals.c

# Each frame must be followed by where its function returns to, by the program's own word: a handler's trampoline by
# where the kernel says that the signal struck. Of code without SFrame data, in which a stack may end, the symbols say
# who calls it: libc calls the vDSO, some functions call libc, one calls the vDSO. The frame that a thread's function
# returns to is the last that is judged: the stack is whole.
#
# Functions that are called through a pointer, as by libc, may be the end behind such code: the guess cannot be proved.
# In the kernel, while it sets up a handler or returns from it, registers are changed one by one: for some instructions
# they are of neither frame (`between`). Of what a handler interrupts, the first frames may be right then: those for which
# the registers that have not changed yet suffice. The kernel's innermost function tells; some are inlined.
# shellcheck disable=SC2016
judge_signals='
	function has_data(i) {
		return sym[i] in known || ip[i] in trampoline
	}
	function follows(i) {
		if (ip[i] in trampoline) {
			met[ip[i + 1]]
			return ip[i + 1] in interrupted
		}
		if (sym[i] in known)
			return (sym[i], ip[i + 1]) in returns
		if (sym[i + 1] in known)
			return dso[i] == "([vdso])" ? sym[i + 1] == "calls_vdso" : sym[i + 1] ~ /^(calls_libc|loads|tell|thread|main)$/
		return dso[i] != "([vdso])" || dso[i + 1] ~ /libc/
	}
	function is_set_up(    place) {
		for (place in setup)
			if (place <= kernel_ip && kernel_ip < setup[place])
				return 1
	}
	function verdict(    i) {
		if (n == 1 && dso[1] == "([unknown])")
			return "unknown"
		for (i = 1; i <= n; i++) {
			if (ip[i] in start)
				return "whole"
			if (i == n && (!has_data(i) || i > 1 && !has_data(i - 1)))
				return "nodata"
			if (i == n)
				return n == 1 && kernel || is_set_up() ? "between" : "short"
			if (!follows(i))
				return is_set_up() ? "between" : "wrong"
			if (sym[i] in known)
				has[sym[i]]
			if (ip[i] in trampoline)
				signals++
			else if (dso[i] == "([vdso])")
				has["in_vdso"]
		}
	}
	function judge(    v, s) {
		signals = 0
		split("", has)
		v = verdict()
		count[v]++
		if (v == "whole") {
			if (signals)
				count[signals == 1 ? "signal" : "nested"]++
			for (s in has)
				count[s]++
		}
		if ((v == "wrong" || v == "short") && shown[v]++ < 4)
			print "     " v ", kernel:" kernel ", user:" text > "/dev/stderr"
	}
	NR == FNR && $1 == "returns" {
		known[$2]
		returns[$2, $3]
		if ($2 ~ /^(thread|main)$/)
			start[$3]
	}
	NR == FNR && $1 == "trampoline" { trampoline[$2] }
	NR == FNR && $1 == "interrupted" { interrupted[$2]++ }
	NR == FNR && $1 == "setup" { setup[$2 ""] = $3 "" }
	NR == FNR && $1 == "loaded" { count["loaded"] = $2 }
	NR == FNR { next }
	/^\t/ && length($1) == 16 { if (!kernel) kernel_ip = $1 ""; kernel = kernel " " $2; next }
	/^\t/ { ip[++n] = $1; sym[n] = $2; dso[n] = $NF; text = text " " $1 ":" $2; next }
	NF == 0 && n && comm == "signals" { judge() }
	{ n = 0; comm = $1; kernel = kernel_ip = text = "" }
	END {
		for (place in interrupted)
			if (interrupted[place] >= 20)
				count[place in met ? "met" : "missed"]++
		for (s in count)
			print s, count[s]
	}'

# What sets up a handler: "setup START END", of each of the kernel's functions.
setup_functions() {
	sort /proc/kallsyms | awk 'found { print "setup", found, $1; found = "" }
		$3 ~ /^(x64_setup_rt_frame|setup_rt_frame|handle_signal|do_signal|arch_do_signal_or_restart)$/ { found = $1 }'
}

record_signals() {	# record_signals WAY DIR: sets n[WHAT], how many there were
	local dir=$2 what number
	snapshot
	perf record -q -B -e cpu-clock -F 10000 --call-graph="sframe,$1" -o "$scratch/data" \
		"$scratch/$dir/signals" "$signals_ms" "$scratch/$dir/library.so" "$scratch/$dir/other-library.so" >"$scratch/facts"
	setup_functions >>"$scratch/facts"
	n=()
	while read -r what number; do
		n[$what]=$number
	done < <(perf script -i "$scratch/data" --no-inline -F comm,tid,ip,sym,dso 2>/dev/null |
		awk "$judge_signals" "$scratch/facts" -)
	for what in "${!n[@]}"; do echo "$what ${n[$what]}"; done | sort | paste -sd, | sed 's/^/     /; s/,/, /g'
	show_grown "$dir $1" '^(walks|stop|frames)'
}

# Some quarter of what there is of each.
enough() {
	local kind few=''
	for kind in whole=4000 signal=400 nested=250 on_other_stack=300 no_frame=40 no_call=100 saves_registers=200 \
		in_vdso=500 above_libc=300 library_inner=60 loaded=50 met=15; do
		[ "${n[${kind%=*}]:-0}" -ge "${kind#*=}" ] || few="$few $kind"
	done
	[ -z "$few" ] || { echo "     too few:$few"; false; }
}

signals() {	# signals MS
	local way dir
	local -A n
	signals_ms=$1
	check 'module loads' modprobe sframe_unwind || exit
	for way in $(ways); do
		for dir in v*/signals; do
			dir=${dir%/signals}
			# Libraries come and go: not from the host's disk, which may be slow.
			mkdir -p "$scratch/$dir"
			cp "$dir"/{signals,library.so,other-library.so} "$scratch/$dir/"
			record_signals "$way" "$dir"
			check "$dir $way: no wrong stack" test "${n[wrong]:-0}" = 0
			check "$dir $way: no stack ends in code with data" test "${n[short]:-0}" = 0
			check "$dir $way: one in 500 at most where a signal begins or ends" \
				test $((${n[between]:-0} * 500)) -le "${n[whole]:-0}"
			check "$dir $way: found wherever signals struck often" test "${n[missed]:-0}" = 0
			check "$dir $way: enough of each kind" enough
		done
	done
	check 'stop reasons sum to walks' reasons_sum_to_walks
	check 'module unloads' rmmod sframe_unwind
	check 'kernel log' log_is_clean
}
