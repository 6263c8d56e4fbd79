# SPDX-License-Identifier: GPL-2.0-or-later
# Work for bash: functions, substitutions, patterns, arrays, pipes, traps.
fib() {
	local n=$1
	if ((n < 2)); then
		echo "$n"
	else
		echo $(($(fib $((n - 1))) + $(fib $((n - 2)))))
	fi
}

trap 'caught=1' USR1
kill -USR1 $$
words=(walk frame stack table row)
for word in "${words[@]}"; do
	[[ $word =~ ^(.)(.*)$ ]] && printf '%s-%s ' "${BASH_REMATCH[2]}" "${word//a/A}"
done
fib 4 | { read -r line; echo "$line $caught"; }
mapfile -t sorted < <(printf '%s\n' "${words[@]}" | sort -r)
echo "${sorted[*]}"
