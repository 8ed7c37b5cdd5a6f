#!/usr/bin/env bash
# Makes a tarball for each architecture, with static programs that need no Go, and SHA256SUMS. `make release` calls it. The same commit
# and the same Go make the same bytes, whatever the folder, the user and the time.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

commit=$(git describe --always --dirty --abbrev=40 --exclude '*')
tar=(tar --format=ustar --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --mtime="@$(git log -1 --format=%ct)")
rm -rf "$RELEASE"
mkdir -p "$RELEASE"
out=$(cd "$RELEASE" && pwd)

for arch in $ARCHITECTURES; do
	name=temper-$VERSION-linux-$arch
	build() { # FOLDER PACKAGE-OF-THE-VERSION PROGRAM ARGUMENTS
		CGO_ENABLED=0 GOOS=linux GOARCH=$arch go build -C "$1" -trimpath -buildvcs=false \
			-ldflags="-s -w -X $2.version=$VERSION -X $2.commit=$commit" -o "$out/$name/bin/$3" "${@:4}"
	}
	build . go.temper.dev/temper/internal/buildinfo temper ./cmd/temper
	build deploy/temporal-dev main temporal-dev -tags "$TEMPORAL_TAGS" .
	cp README.md "$out/$name/"
	if [ -e LICENSE ]; then cp LICENSE "$out/$name/"; fi
	"${tar[@]}" -C "$out" -c "$name" | gzip -n >"$out/$name.tar.gz"
	rm -r "${out:?}/$name"
done
cd "$out"
sha256sum -- *.tar.gz >SHA256SUMS
