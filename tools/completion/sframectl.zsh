#compdef sframectl
# SPDX-License-Identifier: GPL-2.0-or-later
# sframe_unwind's completion of sframectl for zsh. Commands and options are those that `sframectl --help` lists.

# _sframectl_commands: the names of the commands
_sframectl_commands() {
	$words[1] --help 2>/dev/null | sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z]*\).*/\1/p'
}

# _sframectl_options [COMMAND]: the options of a command, or those that stand alone
_sframectl_options() {
	$words[1] "$@" --help 2>/dev/null | sed -nE '/^Options:/,/^$/s/^  ((-[a-z]), )?(--[a-z-]+).*/\2 \3/p'
}

_sframectl() {
	local -a command
	local i
	for ((i = 2; i < CURRENT; i++)); do
		case $words[i] in
		(-d|-i|-o|-p|--duration|--interval|--output|--pid|--stats|--store|--within) ((i++)) ;;
		(-*) ;;
		(*) command=($words[i]); break ;;
		esac
	done
	case $words[CURRENT-1],$words[CURRENT] in
	(--store,*) _files -/ ;;
	(-o,*|--output,*|--stats,*) _files ;;
	(-p,*|--pid,*) compadd -- /proc/[0-9]*(:t) ;;
	(-d,*|-i,*|--duration,*|--interval,*|--within,*) ;;
	(*,-*) compadd -- $(_sframectl_options $command) ;;
	(*)
		case $command in
		('') compadd -- $(_sframectl_commands) ;;
		(dump|check|convert|load) _files ;;
		(serve) _files -/ ;;
		(tables) compadd -- drop ;;
		esac
		;;
	esac
}

_sframectl "$@"
