# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# sframe_unwind's completion of sframectl for bash. Commands and options are those that `sframectl --help` lists.

# _sframectl_commands: the names of the commands
_sframectl_commands() {
	"${COMP_WORDS[0]}" --help 2>/dev/null | sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z]*\).*/\1/p'
}

# _sframectl_options [COMMAND]: the options of a command, or those that stand alone
_sframectl_options() {
	"${COMP_WORDS[0]}" "$@" --help 2>/dev/null | sed -nE '/^Options:/,/^$/s/^  ((-[a-z]), )?(--[a-z-]+).*/\2 \3/p'
}

_sframectl() {
	local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command=() words='' i
	COMPREPLY=()
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		-d | -i | -o | -p | --duration | --interval | --output | --pid | --stats | --store | --within) i=$((i + 1)) ;;
		-*) ;;
		*) command=("${COMP_WORDS[i]}"); break ;;
		esac
	done
	case $previous,$current in
	--store,*) compopt -o dirnames 2>/dev/null; return ;;
	-p,* | --pid,*) words=$(cd /proc && echo [0-9]*) ;;
	-d,* | -i,* | --duration,* | --interval,* | --within,*) return ;;
	-o,* | --output,* | --stats,*) compopt -o default 2>/dev/null; return ;;
	*,-*) words=$(_sframectl_options "${command[@]}") ;;
	*) [ ${#command[@]} != 0 ] || words=$(_sframectl_commands) ;;
	esac
	case ${command[*]} in
	dump | check | convert | load) [ -n "$words" ] || compopt -o default 2>/dev/null ;;
	serve) [ -n "$words" ] || compopt -o dirnames 2>/dev/null ;;
	tables) [ -n "$words" ] || words=drop ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

complete -F _sframectl sframectl
