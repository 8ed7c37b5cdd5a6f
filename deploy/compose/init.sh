#!/bin/sh
# Creates what docker-compose.yml needs and the repository must not contain: .env with random passwords of the databases, the
# keyset that seals secrets, and the API's first user. It keeps what exists.
# Keep a copy of the keyset elsewhere: without it no BMC password in the database can be opened again.
set -eu
umask 077
cd "$(dirname "$0")/../.."
secrets=.temper/compose
mkdir -p "$secrets/ca"

random() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }

# The containers run as the user who may read the secrets, but not as root.
uid=$(id -u) gid=$(id -g)
if [ "$uid" = 0 ]; then uid=65532 gid=65532; fi

if [ ! -e .env ]; then
	cat >.env <<-EOF
		TEMPER_UID=$uid
		TEMPER_GID=$gid
	EOF
	echo "made .env"
fi
# An .env of an older version lacks some.
for name in TEMPER TEMPER_MIGRATE TEMPER_API TEMPER_ORCHESTRATOR TEMPER_CONDUCTOR TEMPORAL TEMPORAL_SERVER; do
	grep -q "^${name}_POSTGRES_PASSWORD=" .env || echo "${name}_POSTGRES_PASSWORD=$(random)" >>.env
done

if [ ! -e "$secrets/keyset.json" ]; then
	if [ -x bin/temper ]; then
		bin/temper keyset new "$secrets/keyset.json"
	else
		docker build -q -t temper:local -f deploy/Dockerfile . >/dev/null
		docker run --rm --user "$(id -u):$(id -g)" -v "$PWD/$secrets:/secrets" temper:local keyset new /secrets/keyset.json
	fi
	echo "made $secrets/keyset.json: keep a copy of it elsewhere"
fi

if [ ! -e "$secrets/htpasswd" ]; then
	command -v htpasswd >/dev/null || {
		echo "htpasswd is missing: install apache2-utils (Debian) or httpd-tools (Fedora), or write $secrets/htpasswd yourself" >&2
		exit 1
	}
	random >"$secrets/admin-password"
	htpasswd -niB admin <"$secrets/admin-password" >"$secrets/htpasswd.new"
	mv "$secrets/htpasswd.new" "$secrets/htpasswd"
	echo "made the user admin; the password is in $secrets/admin-password"
fi

if [ "$(id -u)" = 0 ]; then chown "$uid:$gid" "$secrets" "$secrets"/*; fi
