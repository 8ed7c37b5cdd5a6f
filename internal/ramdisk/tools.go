package ramdisk

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.temper.dev/temper/internal/ramdisk/debian"
	"go.temper.dev/temper/internal/ramdisk/initrd"
)

// Rescue is the flavour of a ramdisk in which a person can log in by SSH, and that has the tools to look at a server and to mend its
// disks.
const Rescue = "rescue"

// tool is a program of one of Debian's packages, and the names by which it does different things.
type tool struct {
	in, program string
	links       []string
}

// agentTools are those of every flavour: what the agent runs.
var agentTools = []tool{{in: "mdadm", program: "mdadm"}}

// rescueTools are those of the flavour Rescue. busybox has the shell and some 300 commands, for which /init makes links.
var rescueTools = []tool{
	{in: "busybox-static", program: "busybox"},
	{in: "dropbear-bin", program: "dropbear"},
	{in: "dropbear-bin", program: "dropbearkey"},
	{in: "e2fsprogs", program: "e2fsck", links: []string{"fsck.ext2", "fsck.ext3", "fsck.ext4"}},
	{in: "efibootmgr", program: "efibootmgr"},
	{in: "ethtool", program: "ethtool"},
	{in: "lvm2", program: "lvm", links: []string{"lvchange", "lvdisplay", "lvs", "lvscan", "pvdisplay", "pvs", "pvscan", "vgchange", "vgdisplay", "vgs", "vgscan"}},
	{in: "mdadm", program: "mdadm"},
	{in: "nvme-cli", program: "nvme"},
	{in: "smartmontools", program: "smartctl"},
	{in: "tcpdump", program: "tcpdump"},
	{in: "util-linux", program: "lsblk"},
	{in: "xfsprogs", program: "xfs_repair"},
}

// Folders of Debian's packages, before and after Debian moved what is in / to /usr.
var (
	programFolders = []string{"usr/bin", "usr/sbin", "bin", "sbin"}
	libraryFolders = []string{"usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu", "usr/lib64", "lib64"}
)

// addTools adds tools and the libraries that they need.
func addTools(ctx context.Context, apt *debian.Apt, files initrd.Files, tools []tool) ([]debian.Package, error) {
	var names []string
	for _, t := range tools {
		names = append(names, t.in)
	}
	names = slices.Compact(names) // the table is in their order
	libraries, err := librariesOf(ctx, apt, names)
	if err != nil {
		return nil, err
	}
	packages, err := apt.Fetch(ctx, append(names, libraries...)...)
	if err != nil {
		return nil, err
	}
	u := unpacked{files: files, dirs: map[string]string{}}
	for _, p := range packages {
		if u.dirs[p.Name], err = apt.Unpack(ctx, p); err != nil {
			return nil, err
		}
	}
	for _, t := range tools {
		if err := u.add(t); err != nil {
			return nil, fmt.Errorf("package %s: %w", t.in, err)
		}
	}
	return packages, nil
}

// librariesOf returns the packages with libraries on which packages depend, and those on which these depend. The others, such as
// udev and adduser, are what a program needs to be installed, not to run.
func librariesOf(ctx context.Context, apt *debian.Apt, of []string) (all []string, err error) {
	for len(of) > 0 {
		depends, err := apt.Depends(ctx, of...)
		if err != nil {
			return nil, err
		}
		of = nil
		for _, name := range depends {
			if (strings.HasPrefix(name, "lib") || name == "zlib1g") && !slices.Contains(all, name) {
				all, of = append(all, name), append(of, name)
			}
		}
	}
	return all, nil
}

// unpacked are packages that were unpacked, and the files that are taken from them.
type unpacked struct {
	dirs  map[string]string // by package
	files initrd.Files
}

func (u unpacked) add(t tool) error {
	path, err := find(u.dirs[t.in], programFolders, t.program)
	if err != nil {
		return err
	}
	u.files["usr/bin/"+t.program] = initrd.File{From: path, Mode: 0o755}
	for _, link := range t.links {
		u.files["usr/bin/"+link] = initrd.File{Link: t.program}
	}
	return u.addLibraries(path)
}

// addLibraries adds the libraries of a program or of a library, by the names that it loads them by (ELF's DT_NEEDED and PT_INTERP).
func (u unpacked) addLibraries(of string) error {
	f, err := elf.Open(of)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	needed, err := f.ImportedLibraries()
	if err != nil {
		return fmt.Errorf("libraries of %s: %w", of, err)
	}
	for _, name := range needed {
		if err := u.addLibrary("usr/lib/x86_64-linux-gnu/"+name, name); err != nil {
			return err
		}
	}
	for _, p := range f.Progs {
		if p.Type != elf.PT_INTERP {
			continue
		}
		b, err := io.ReadAll(p.Open())
		if err != nil {
			return fmt.Errorf("loader of %s: %w", of, err)
		}
		loader := strings.Trim(string(b), "/\x00")
		if err := u.addLibrary(loader, filepath.Base(loader)); err != nil {
			return err
		}
	}
	return nil
}

func (u unpacked) addLibrary(at, name string) error {
	if _, there := u.files[at]; there {
		return nil
	}
	for _, dir := range u.dirs {
		if path, err := find(dir, libraryFolders, name); err == nil {
			u.files[at] = initrd.File{From: path, Mode: 0o755}
			return u.addLibraries(path)
		}
	}
	return fmt.Errorf("none of the packages has the library %s", name)
}

// find returns the path of a file that is in one of the folders below dir, without links.
func find(dir string, folders []string, name string) (string, error) {
	for _, folder := range folders {
		path, err := filepath.EvalSymlinks(filepath.Join(dir, folder, name))
		if err == nil {
			return path, nil
		}
		if !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
	}
	return "", fmt.Errorf("it has no %s", name)
}
