// Package bootloader finds in the file system of an image what UEFI needs to start it: an image of a partition has no EFI system partition,
// but it has the boot loaders that belong in there. It only reads.
package bootloader

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

const (
	maxBytes = 128 << 20 // of all files
	maxFiles = 2000
)

// names are the parts of file names that mean a processor, by Go's name of it: of UEFI, and of packages of GRUB.
var names = map[string]struct{ efi, grub string }{"amd64": {"x64", "x86_64"}, "arm64": {"aa64", "arm64"}}

// Files returns the files of the EFI system partition by their paths, as "EFI/BOOT/BOOTX64.EFI". They are those below /boot/efi of the image,
// which distributions fill when their packages are installed, or those that the packages keep. GRUB is led to the file system with the
// UUID root.
func Files(image fs.FS, root string) (map[string][]byte, error) {
	arch, known := names[runtime.GOARCH]
	if !known {
		return nil, fmt.Errorf("the names of boot loaders are not known for %s", runtime.GOARCH)
	}
	s := &search{image: image, out: map[string][]byte{}}
	if err := s.copyTree("boot/efi"); err != nil {
		return nil, err
	}
	if s.folderWith("grub"+arch.efi+".efi") == "" && s.folderWith("shim"+arch.efi+".efi") == "" && s.find("EFI/BOOT/BOOT"+arch.efi+".EFI") == "" {
		s.fromPackages(arch.efi, arch.grub)
	}
	if err := s.addDefault(arch.efi); err != nil {
		return nil, err
	}
	return s.out, s.addConfig(arch.efi, root)
}

type search struct {
	image fs.FS
	out   map[string][]byte
	bytes int64
}

// copyTree takes all files below a folder of the image.
func (s *search) copyTree(dir string) error {
	if _, err := fs.Stat(s.image, dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fs.WalkDir(s.image, dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		if s.bytes += info.Size(); s.bytes > maxBytes || len(s.out) >= maxFiles {
			return fmt.Errorf("/%s of the image has more than %d MiB or %d files", dir, maxBytes>>20, maxFiles)
		}
		b, err := fs.ReadFile(s.image, name)
		s.out[strings.TrimPrefix(name, dir+"/")] = b
		return err
	})
}

// find returns the path as the result has it; FAT knows no case. "" = it has none.
func (s *search) find(name string) string {
	for have := range s.out {
		if strings.EqualFold(have, name) {
			return have
		}
	}
	return ""
}

// folderWith returns a folder below EFI that has a file, the default one last; "" = none has.
func (s *search) folderWith(file string) string {
	var found []string
	for have := range s.out {
		if dir, name := path.Split(have); strings.EqualFold(name, file) && strings.HasPrefix(strings.ToUpper(dir), "EFI/") {
			found = append(found, path.Clean(dir))
		}
	}
	slices.SortFunc(found, func(a, b string) int {
		isDefault := func(dir string) int { return len(dir) - len(strings.TrimSuffix(strings.ToUpper(dir), "/BOOT")) }
		return 2*(min(1, isDefault(a))-min(1, isDefault(b))) + strings.Compare(a, b)
	})
	if len(found) == 0 {
		return ""
	}
	return found[0]
}

// first returns the content of the first file that the image has.
func (s *search) first(files ...string) []byte {
	for _, f := range files {
		if b, err := fs.ReadFile(s.image, f); err == nil && len(b) > 0 {
			return b
		}
	}
	return nil
}

// fromPackages takes the loaders from where the packages of Debian, Ubuntu and SUSE keep them.
func (s *search) fromPackages(efi, grub string) {
	dir := "EFI/" + s.distribution()
	for name, b := range map[string][]byte{
		"shim" + efi + ".efi": s.first("usr/lib/shim/shim"+efi+".efi.signed", "usr/lib/shim/shim"+efi+".efi.signed.latest",
			"usr/lib/shim/shim"+efi+".efi", "usr/share/efi/"+grub+"/shim.efi"),
		"mm" + efi + ".efi":   s.first("usr/lib/shim/mm"+efi+".efi.signed", "usr/lib/shim/mm"+efi+".efi", "usr/share/efi/"+grub+"/MokManager.efi"),
		"grub" + efi + ".efi": s.first("usr/lib/grub/"+grub+"-efi-signed/grub"+efi+".efi.signed", "usr/share/efi/"+grub+"/grub.efi", "usr/share/grub2/"+grub+"-efi/grub.efi"),
	} {
		if b != nil {
			s.out[dir+"/"+name] = b
		}
	}
}

// distribution returns the name under which GRUB of the image's distribution looks for its configuration.
func (s *search) distribution() string {
	for line := range strings.Lines(string(s.first("etc/os-release", "usr/lib/os-release"))) {
		if id, found := strings.CutPrefix(strings.TrimSpace(line), "ID="); found {
			if id = strings.Trim(id, `"'`); id != "" && !strings.ContainsAny(id, `/\.`) {
				return id
			}
		}
	}
	return "debian"
}

// addDefault makes EFI/BOOT/BOOTX64.EFI, which UEFI starts without an option of its own: shim with what shim starts, or GRUB.
func (s *search) addDefault(efi string) error {
	start := "EFI/BOOT/BOOT" + strings.ToUpper(efi) + ".EFI"
	if s.find(start) != "" {
		return nil
	}
	for _, loader := range []string{"shim", "grub"} {
		dir := s.folderWith(loader + efi + ".efi")
		if dir == "" {
			continue
		}
		s.out[start] = s.out[s.find(dir+"/"+loader+efi+".efi")]
		for _, beside := range []string{"grub", "mm"} {
			if have := s.find(dir + "/" + beside + efi + ".efi"); have != "" {
				s.out["EFI/BOOT/"+beside+efi+".efi"] = s.out[have]
			}
		}
		return nil
	}
	return errors.New("the image has no boot loader for UEFI: neither below /boot/efi nor of the packages of shim and GRUB")
}

// addConfig writes a grub.cfg beside each GRUB that has none for this file system, and where a GRUB that was made for CDs looks.
func (s *search) addConfig(efi, root string) error {
	content, err := s.config(root)
	if err != nil {
		return err
	}
	dirs := []string{"EFI/BOOT", "boot/grub"}
	for have := range s.out {
		if dir, name := path.Split(have); strings.EqualFold(name, "grub"+efi+".efi") {
			dirs = append(dirs, path.Clean(dir))
		}
	}
	for _, dir := range dirs {
		name := dir + "/grub.cfg"
		if have := s.find(name); have != "" {
			if strings.Contains(string(s.out[have]), root) {
				continue
			}
			name = have
		}
		s.out[name] = []byte(content)
	}
	return nil
}

// config leads GRUB to the image's own configuration or, if it has none, to its newest kernel.
func (s *search) config(root string) (string, error) {
	here := "search --no-floppy --fs-uuid --set=root " + root + "\n"
	for _, dir := range []string{"boot/grub", "boot/grub2"} {
		if s.first(dir+"/grub.cfg") != nil {
			return here + "set prefix=($root)/" + dir + "\nconfigfile $prefix/grub.cfg\n", nil
		}
	}
	kernel, initrd := s.kernel()
	if kernel == "" {
		return "", errors.New("the image has neither a grub.cfg in /boot/grub or /boot/grub2, nor a kernel in /boot")
	}
	text := here + "set timeout=0\nmenuentry Linux {\n  linux /" + kernel + " root=UUID=" + root + " ro " + s.commandLine() + "\n"
	if initrd != "" {
		text += "  initrd /" + initrd + "\n"
	}
	return text + "}\n", nil
}

// kernel returns the newest kernel below /boot, and its initrd.
func (s *search) kernel() (kernel, initrd string) {
	entries, err := fs.ReadDir(s.image, "boot")
	if err != nil {
		return "", ""
	}
	has, newest := map[string]bool{}, ""
	for _, e := range entries {
		has[e.Name()] = true
		if version, found := strings.CutPrefix(e.Name(), "vmlinuz-"); found && !strings.Contains(version, "rescue") && (newest == "" || newer(version, newest)) {
			newest = version
		}
	}
	if newest == "" {
		return "", ""
	}
	for _, name := range []string{"initrd.img-" + newest, "initramfs-" + newest + ".img", "initrd-" + newest} {
		if has[name] {
			return "boot/vmlinuz-" + newest, "boot/" + name
		}
	}
	return "boot/vmlinuz-" + newest, ""
}

// newer reports whether a is a later version than b: runs of digits count as numbers.
func newer(a, b string) bool {
	isDigit := func(r rune) bool { return r >= '0' && r <= '9' }
	for a != "" && b != "" {
		x, y := a[:1], b[:1]
		if isDigit(rune(a[0])) && isDigit(rune(b[0])) {
			x, y = a[:len(a)-len(strings.TrimLeftFunc(a, isDigit))], b[:len(b)-len(strings.TrimLeftFunc(b, isDigit))]
			n, errN := strconv.ParseUint(x, 10, 64)
			m, errM := strconv.ParseUint(y, 10, 64)
			if errN == nil && errM == nil && n != m {
				return n > m
			}
		} else if x != y {
			return x > y
		}
		a, b = a[len(x):], b[len(y):]
	}
	return len(a) > len(b)
}

// commandLine returns what the image wants on its kernel's command line (/etc/default/grub).
func (s *search) commandLine() string {
	var words []string
	for line := range strings.Lines(string(s.first("etc/default/grub"))) {
		for _, key := range []string{"GRUB_CMDLINE_LINUX=", "GRUB_CMDLINE_LINUX_DEFAULT="} {
			if value, found := strings.CutPrefix(strings.TrimSpace(line), key); found {
				words = append(words, strings.Fields(strings.Trim(value, `"'`))...)
			}
		}
	}
	words = slices.DeleteFunc(words, func(w string) bool { return strings.ContainsAny(w, "`$;{}\\") }) // of a shell, which does not run here
	return strings.Join(words, " ")
}
