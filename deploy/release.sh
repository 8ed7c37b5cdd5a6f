#!/usr/bin/env bash
# Makes a tarball for each architecture, with static programs that need no Go, one of each flavour of the ramdisk, which is for servers
# with amd64, and SHA256SUMS. `make release` calls it. The same commit, the same Go and the same packages of Debian make the same bytes,
# whatever the folder, the user and the time.
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
# ramdisk makes a tarball NAME of the ramdisk of a flavour.
ramdisk() { # NAME FLAVOUR
	CGO_ENABLED=0 GOOS=linux GOARCH=amd64 go build -trimpath -buildvcs=false -ldflags="-s -w" -o "$out/tools/init" ./internal/ramdisk/init
	CGO_ENABLED=0 GOOS=linux GOARCH=amd64 go build -trimpath -buildvcs=false \
		-ldflags="-s -w -X go.temper.dev/temper/internal/buildinfo.version=$VERSION -X go.temper.dev/temper/internal/buildinfo.commit=$commit" -o "$out/tools/temper-agent" ./cmd/temper-agent
	go build -o "$out/tools/mkramdisk" ./internal/ramdisk/mkramdisk
	"$out/tools/mkramdisk" --flavour "$2" --init "$out/tools/init" --agent "$out/tools/temper-agent" --out "$out/$1"
	"${tar[@]}" -C "$out" -c "$1" | gzip -n >"$out/$1.tar.gz"
	rm -r "${out:?}/$1" "${out:?}/tools"
}
if command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null; then
	ramdisk "temper-ramdisk-$VERSION" ""
	ramdisk "temper-ramdisk-rescue-$VERSION" rescue
else
	echo "release: THE RAMDISK IS MISSING: it is built of Debian's packages, on a machine with apt" >&2
fi
cd "$out"
sha256sum -- *.tar.gz >SHA256SUMS
