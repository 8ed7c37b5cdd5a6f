#!/bin/sh
# Starts PostgreSQL with TLS. It reads its key only if the key is its own, so this copies the one that init.sh made.
set -eu
install -o postgres -g postgres -m 0600 /run/secrets/postgres-key /var/run/postgresql/tls.key
exec docker-entrypoint.sh postgres -c ssl=on -c ssl_cert_file=/run/secrets/postgres-cert -c ssl_key_file=/var/run/postgresql/tls.key
