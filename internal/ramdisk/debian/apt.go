// Package debian fetches packages of Debian and unpacks them, as any user and without installing them. It asks apt for
// them, which knows the machine's mirrors and proxies and checks Debian's signatures; it changes nothing of the machine's
// own apt.
package debian

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Limits of the programs that are called. A kernel has 70 MB, which a slow mirror may take minutes for.
const (
	downloadLimit = 20 * time.Minute
	programLimit  = 5 * time.Minute
	lockPause     = 200 * time.Millisecond
)

// keyring has the keys of Debian's archive, on machines with the package debian-archive-keyring.
const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"

// Apt is an apt of its own in a folder: it has the machine's mirrors of Debian, and lists and packages that are not the
// machine's.
type Apt struct {
	dir  string
	lock *os.File
	log  io.Writer
}

// Package is a package of Debian that lies in the folder of an Apt.
type Package struct {
	Name, Version, Architecture string
	SHA256                      string // of the .deb file, in hex
	File                        string // path of the .deb file
}

// Open makes an apt in the folder dir, which keeps its downloads for the next time, and reads which packages the machine's
// mirrors have now, in Debian's components main and non-free-firmware. What apt and dpkg print goes to log.
// Nobody else can use the folder until Close.
func Open(ctx context.Context, dir string, log io.Writer) (*Apt, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	a := &Apt{dir: dir, log: log}
	for _, program := range []string{"apt-get", "apt-cache", "dpkg-deb"} {
		if _, err := exec.LookPath(program); err != nil {
			return nil, fmt.Errorf("%s is not here: packages of Debian can be fetched on machines with apt only, such as Debian and Ubuntu", program)
		}
	}
	for _, d := range []string{"state/lists/partial", "cache/archives/partial", "packages", "unpacked"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return nil, fmt.Errorf("make the folder of apt: %w", err)
		}
	}
	if err := a.hold(ctx); err != nil {
		return nil, err
	}
	if err := a.update(ctx); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// Close lets others use the folder.
func (a *Apt) Close() error { return a.lock.Close() }

// hold waits until nobody else uses the folder. The kernel ends the lock of a process that dies.
func (a *Apt) hold(ctx context.Context) error {
	f, err := os.OpenFile(filepath.Join(a.dir, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return fmt.Errorf("lock the folder of apt: %w", err)
	}
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			a.lock = f
			return nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return errors.Join(fmt.Errorf("lock the folder of apt: %w", err), f.Close())
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("another build uses %s: %w", a.dir, ctx.Err()), f.Close())
		case <-time.After(lockPause):
		}
	}
}

// update writes apt's settings and reads the mirrors' lists.
func (a *Apt) update(ctx context.Context) error {
	sources, err := a.sources(ctx)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(a.dir, "sources.list"), sources, 0o644); err != nil {
		return fmt.Errorf("write apt's list of sources: %w", err)
	}
	if err := os.WriteFile(filepath.Join(a.dir, "apt.conf"), a.settings(), 0o644); err != nil {
		return fmt.Errorf("write apt's settings: %w", err)
	}
	_, err = a.run(ctx, downloadLimit, "apt-get", "--quiet", "--error-on=any", "update")
	return err
}

// settings are those of apt.conf(5) that make this apt use its own folder.
func (a *Apt) settings() []byte {
	var b bytes.Buffer
	for _, s := range [][2]string{
		{"APT::Architecture", "amd64"},
		{"APT::Architectures", "amd64"},
		{"APT::Sandbox::User", ""}, // the folder belongs to whoever builds, not to apt's user
		{"Acquire::Languages", "none"},
		{"Acquire::Retries", "3"},
		{"Dir::State", filepath.Join(a.dir, "state")},
		{"Dir::State::status", "/dev/null"},
		{"Dir::Cache", filepath.Join(a.dir, "cache")},
		{"Dir::Etc::sourcelist", filepath.Join(a.dir, "sources.list")},
		{"Dir::Etc::sourceparts", "/dev/null"},
		{"Dir::Etc::preferences", "/dev/null"},
		{"Dir::Etc::preferencesparts", "/dev/null"},
	} {
		fmt.Fprintf(&b, "%s %q;\n", s[0], s[1])
	}
	return b.Bytes()
}

// sources is a sources.list(5) with the machine's mirrors of Debian, and the components that a ramdisk needs.
func (a *Apt) sources(ctx context.Context) ([]byte, error) {
	targets, err := run(ctx, programLimit, a.log, nil, "apt-get", "indextargets", "--format", "$(SITE) $(RELEASE)", "Created-By: Packages", "Origin: Debian")
	if err != nil {
		return nil, err
	}
	signed := ""
	if _, err := os.Stat(keyring); err == nil {
		signed = "[signed-by=" + keyring + "] "
	}
	lines := strings.Split(strings.TrimSpace(string(targets)), "\n")
	slices.Sort(lines)
	var b bytes.Buffer
	for _, line := range slices.Compact(lines) {
		if site, release, ok := strings.Cut(line, " "); ok {
			fmt.Fprintf(&b, "deb %s%s %s main non-free-firmware\n", signed, site, release)
		}
	}
	if b.Len() == 0 {
		return nil, errors.New("apt knows no mirror of Debian on this machine: name one in /etc/apt/sources.list.d, then run apt-get update as root")
	}
	return b.Bytes(), nil
}

// Depends returns the names of the packages on which the newest versions of packages depend, in their order; of
// alternatives the first.
func (a *Apt) Depends(ctx context.Context, packages ...string) ([]string, error) {
	out, err := a.run(ctx, programLimit, "apt-cache", append([]string{"show", "--no-all-versions"}, packages...)...)
	if err != nil {
		return nil, err
	}
	var names []string
	for line := range strings.Lines(string(out)) {
		value, ok := strings.CutPrefix(strings.TrimPrefix(line, "Pre-"), "Depends:")
		if !ok {
			continue
		}
		for dep := range strings.SplitSeq(value, ",") {
			if f := strings.Fields(dep); len(f) > 0 {
				names = append(names, f[0])
			}
		}
	}
	return names, nil
}

// Fetch downloads the newest versions of packages which are not there yet. The packages come back in the order of their names.
func (a *Apt) Fetch(ctx context.Context, names ...string) ([]Package, error) {
	wanted, err := a.newest(ctx, names)
	if err != nil {
		return nil, err
	}
	missing := []string{"--quiet", "download"}
	for _, p := range wanted {
		if sum, err := sha256File(p.File); err != nil || sum != p.SHA256 {
			if err := os.Remove(p.File); err != nil && !errors.Is(err, os.ErrNotExist) {
				return nil, fmt.Errorf("package %s is damaged: %w", p.Name, err)
			}
			missing = append(missing, p.Name+"="+p.Version)
		}
	}
	if len(missing) > 2 {
		if _, err := a.run(ctx, downloadLimit, "apt-get", missing...); err != nil {
			return nil, err
		}
	}
	for _, p := range wanted {
		sum, err := sha256File(p.File)
		if err != nil {
			return nil, fmt.Errorf("package %s: %w", p.Name, err)
		}
		if sum != p.SHA256 {
			return nil, fmt.Errorf("package %s: the SHA-256 of %s is %s, and Debian's list says %s", p.Name, p.File, sum, p.SHA256)
		}
	}
	return wanted, nil
}

// newest reads from apt's lists which file is the newest version of each package.
func (a *Apt) newest(ctx context.Context, names []string) ([]Package, error) {
	out, err := a.run(ctx, programLimit, "apt-cache", append([]string{"show", "--no-all-versions"}, names...)...)
	if err != nil {
		return nil, err
	}
	var all []Package
	var p Package
	add := func() {
		if p.Name != "" {
			all = append(all, p)
		}
		p = Package{}
	}
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		key, value, _ := strings.Cut(lines.Text(), ": ")
		switch key {
		case "":
			add()
		case "Package":
			p.Name = value
		case "Version":
			p.Version = value
		case "SHA256":
			p.SHA256 = value
		case "Architecture":
			p.Architecture = value
		}
	}
	add()
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read apt's lists: %w", err)
	}
	for i, p := range all {
		version := strings.ReplaceAll(p.Version, ":", "%3a") // as apt-get download names files
		all[i].File = filepath.Join(a.dir, "packages", p.Name+"_"+version+"_"+p.Architecture+".deb")
	}
	slices.SortFunc(all, func(x, y Package) int { return strings.Compare(x.Name, y.Name) })
	all = slices.CompactFunc(all, func(x, y Package) bool { return x.Name == y.Name })
	for _, name := range names {
		if !slices.ContainsFunc(all, func(p Package) bool { return p.Name == name }) {
			return nil, fmt.Errorf("package %s is not on this machine's mirrors of Debian", name)
		}
	}
	return all, nil
}

// Unpack returns a folder with the files of a package. It is kept for the next time; nobody may write into it.
func (a *Apt) Unpack(ctx context.Context, p Package) (string, error) {
	dir := filepath.Join(a.dir, "unpacked", p.Name+"-"+p.SHA256)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	// A folder that has its name is whole: it gets it when everything is in it.
	tmp, err := os.MkdirTemp(filepath.Join(a.dir, "unpacked"), "tmp-")
	if err != nil {
		return "", fmt.Errorf("unpack %s: %w", p.Name, err)
	}
	defer os.RemoveAll(tmp)
	if _, err := a.run(ctx, programLimit, "dpkg-deb", "--extract", p.File, tmp); err != nil {
		return "", err
	}
	if err := os.Rename(tmp, dir); err != nil {
		if _, there := os.Stat(dir); there == nil { // another build was faster
			return dir, nil
		}
		return "", fmt.Errorf("unpack %s: %w", p.Name, err)
	}
	return dir, nil
}

func (a *Apt) run(ctx context.Context, limit time.Duration, program string, args ...string) ([]byte, error) {
	return run(ctx, limit, a.log, a, program, args...)
}

// run runs a program in the folder of a's packages, with a's settings if a is not nil, and returns what it printed.
func run(ctx context.Context, limit time.Duration, log io.Writer, a *Apt, program string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive")
	if a != nil {
		cmd.Dir = filepath.Join(a.dir, "packages")
		cmd.Env = append(cmd.Env, "APT_CONFIG="+filepath.Join(a.dir, "apt.conf"))
	}
	var out, failed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, io.MultiWriter(log, &failed)
	if err := cmd.Run(); err != nil {
		said := strings.TrimSpace(failed.String())
		return nil, fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, said)
	}
	return out.Bytes(), nil
}

func sha256File(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
