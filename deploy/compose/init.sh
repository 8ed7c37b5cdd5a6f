#!/bin/sh
# Creates what docker-compose.yml needs and the repository must not contain: .env with random passwords of the databases, the
# keyset that seals secrets, the API's first user, and an authority with certificates of the API and of PostgreSQL. It keeps
# what exists. The API's certificate is for localhost, api, 127.0.0.1 and what is in TEMPER_API_NAMES, such as
# TEMPER_API_NAMES=DNS:temper.example,IP:192.0.2.7.
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

tls=$secrets/tls
mkdir -p "$tls"

# key makes the private key $1.key; make_certificate makes $1.pem, for the names $2, with the authority.
key() { openssl genpkey -quiet -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$tls/$1.key"; }
make_certificate() {
	[ ! -e "$tls/$1.pem" ] || return 0
	key "$1"
	printf 'subjectAltName=%s\nextendedKeyUsage=serverAuth\n' "$2" >"$tls/extensions"
	openssl req -new -key "$tls/$1.key" -subj "/CN=$1" |
		openssl x509 -req -days 825 -CA "$tls/ca.pem" -CAkey "$tls/ca.key" -CAcreateserial -extfile "$tls/extensions" -out "$tls/$1.new" 2>/dev/null
	rm "$tls/extensions"
	mv "$tls/$1.new" "$tls/$1.pem"
	chmod 644 "$tls/$1.pem" # PostgreSQL runs as another user
	echo "made $tls/$1.pem, valid for 825 days: delete it and run this again for a new one"
}

if [ ! -e "$tls/ca.pem" ]; then
	key ca
	openssl req -new -x509 -key "$tls/ca.key" -days 3650 -subj "/CN=Temper of docker compose" -out "$tls/ca.new"
	mv "$tls/ca.new" "$tls/ca.pem"
	chmod 644 "$tls/ca.pem"
fi
make_certificate postgres DNS:postgres
make_certificate api "DNS:localhost,DNS:api,IP:127.0.0.1${TEMPER_API_NAMES:+,$TEMPER_API_NAMES}"

if [ "$(id -u)" = 0 ]; then chown "$uid:$gid" "$secrets" "$secrets"/* "$tls"/*; fi
