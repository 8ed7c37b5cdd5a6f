#!/bin/sh
# Makes the Secrets of this kustomization from what ../compose/init.sh makes: passwords, the keyset, certificates and the API's first
# user, who is baremetal-operator's. It may run again: it keeps what exists.
# Keep a copy of .temper/compose and .env elsewhere: without the keyset no BMC password in the database can be opened again.
set -eu
cd "$(dirname "$0")/../.."
namespace=baremetal-operator-system
names=DNS:temper,DNS:temper.$namespace.svc
TEMPER_API_NAMES="$names${TEMPER_API_NAMES:+,$TEMPER_API_NAMES}" deploy/compose/init.sh
made=.temper/compose

secret() {
	name=$1
	shift
	kubectl create secret generic "$name" -n "$namespace" "$@" --dry-run=client -o yaml | kubectl apply -f -
}
secret temper-passwords --from-env-file=.env
secret temper-keyset --from-file=keyset="$made/keyset.json"
secret temper-ca --from-file=ca="$made/tls/ca.pem"
secret temper-postgres-tls --from-file=postgres-cert="$made/tls/postgres.pem" --from-file=postgres-key="$made/tls/postgres.key"
secret temper-api --from-file=htpasswd="$made/htpasswd" --from-file=api-cert="$made/tls/api.pem" --from-file=api-key="$made/tls/api.key"
secret ironic-cacert --from-file=tls.crt="$made/tls/ca.pem"
secret ironic-credentials --from-literal=username=admin --from-file=password="$made/admin-password"
