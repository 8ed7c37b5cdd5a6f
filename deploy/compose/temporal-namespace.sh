#!/bin/sh
# Creates the namespace $TEMPORAL_NAMESPACE with the search attributes of Temper's workflows, and $TEMPORAL_NAMESPACE-reconcile
# for the reconciliations, so that the list of operations does not contain them. It may run again.
set -eu

tries=0
until temporal operator cluster health >/dev/null 2>&1; do
	tries=$((tries + 1))
	if [ "$tries" -ge 60 ]; then
		echo "temporal at $TEMPORAL_ADDRESS does not answer" >&2
		exit 1
	fi
	sleep 1
done

# Reconciliation may ask for the result of a workflow long after it has ended, so closed workflows are kept for three days.
temporal operator namespace describe --namespace "$TEMPORAL_NAMESPACE" >/dev/null 2>&1 ||
	temporal operator namespace create --namespace "$TEMPORAL_NAMESPACE" --retention 72h

# Reconciliations run every few seconds, and a day of them is enough.
temporal operator namespace describe --namespace "$TEMPORAL_NAMESPACE-reconcile" >/dev/null 2>&1 ||
	temporal operator namespace create --namespace "$TEMPORAL_NAMESPACE-reconcile" --retention 24h

# A namespace takes a moment to be known everywhere.
tries=0
until have=$(temporal operator search-attribute list --namespace "$TEMPORAL_NAMESPACE"); do
	tries=$((tries + 1))
	[ "$tries" -lt 30 ] || exit 1
	sleep 1
done
for attribute in TemperNodeID=Keyword TemperNodeName=Keyword TemperOperation=Keyword TemperConductor=Keyword TemperStep=Keyword \
	TemperWaitingFor=Keyword TemperDriver=Keyword TemperGroup=Keyword TemperCause=Keyword TemperHeld=Bool; do
	name=${attribute%=*}
	case "$have" in
	*"$name"*) ;;
	*) temporal operator search-attribute create --namespace "$TEMPORAL_NAMESPACE" --name "$name" --type "${attribute#*=}" ;;
	esac
done
