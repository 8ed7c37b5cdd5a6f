#!/bin/sh
# The server behind ipmi_sim, which calls: chassis.sh DIR get NAME..., or: chassis.sh DIR set NAME VALUE...
# DIR has a file with each value, and a line in "set" for each change.
dir=$1
op=$2
shift 2
[ "$op" = set ] && echo "$*" >>"$dir/set"
while [ $# -gt 0 ]; do
	case $op-$1 in
	get-*)
		echo "$1:$(cat "$dir/$1")"
		shift
		;;
	set-shutdown)
		echo 0 >"$dir/power"
		shift 2
		;;
	set-*)
		echo "$2" >"$dir/$1"
		shift 2
		;;
	*) shift ;;
	esac
done
