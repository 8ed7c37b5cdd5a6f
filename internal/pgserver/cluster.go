package pgserver

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// cluster is a data folder, and how to run a server on it.
type cluster struct {
	dir, data string
	bins      Bins
	password  string
	runAs     *serverUser // nil = the current user
}

// serverUser is the unprivileged user that PostgreSQL runs as if we are root, which it refuses.
type serverUser struct {
	name     string
	uid, gid uint32
}

// prepare creates the folder and the cluster in it if they don't exist.
func prepare(ctx context.Context, o Options) (*cluster, error) {
	if o.Dir == "" {
		return nil, errors.New("no folder given")
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	c := &cluster{dir: dir, data: filepath.Join(dir, "data")}
	if c.runAs, err = findServerUser(); err != nil {
		return nil, err
	}
	if c.bins, err = binsFor(c.data); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := c.chown(dir); err != nil {
		return nil, err
	}
	if err := c.checkReachable(ctx); err != nil {
		return nil, err
	}
	if c.password, err = c.readPassword(); err != nil {
		return nil, err
	}
	return c, c.initialize(ctx)
}

// binsFor returns the programs for the cluster in data. If there is none yet, it returns any that
// are new enough.
func binsFor(data string) (Bins, error) {
	b, err := os.ReadFile(filepath.Join(data, "PG_VERSION"))
	if errors.Is(err, os.ErrNotExist) {
		return Find()
	}
	if err != nil {
		return Bins{}, err
	}
	major, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return Bins{}, fmt.Errorf("read the version of the data folder: %w", err)
	}
	return findMajor(major)
}

// findServerUser returns the user that PostgreSQL runs as: postgres or nobody if we are root, else
// nil for the current user.
func findServerUser() (*serverUser, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
		if uidErr == nil && gidErr == nil && uid != 0 {
			return &serverUser{name: name, uid: uint32(uid), gid: uint32(gid)}, nil
		}
	}
	return nil, errors.New("PostgreSQL does not run as root, and there is no user postgres or nobody to run it as")
}

func (c *cluster) chown(path string) error {
	if c.runAs == nil {
		return nil
	}
	return os.Chown(path, int(c.runAs.uid), int(c.runAs.gid))
}

// attr returns the attributes of a child: it runs as the server's user and in a process group of
// its own, because the Ctrl-C that ends its starter must not end it first.
func (c *cluster) attr(endWithStarter bool) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true}
	if c.runAs != nil {
		a.Credential = &syscall.Credential{Uid: c.runAs.uid, Gid: c.runAs.gid, NoSetGroups: false}
	}
	if endWithStarter {
		endWithParent(a)
	}
	return a
}

// env returns the server's environment, without the settings for PostgreSQL clients (PGHOST, ...)
// of our own.
func (c *cluster) env() []string {
	env := []string{"LC_ALL=C", "HOME=" + c.dir}
	for _, k := range []string{"PATH", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"} {
		if v, ok := os.LookupEnv(k); ok {
			env = append(env, k+"="+v)
		}
	}
	return env
}

// checkReachable checks, as the server's user, that the folder can be entered.
func (c *cluster) checkReachable(ctx context.Context) error {
	if c.runAs == nil {
		return nil
	}
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", `cd "$1" && "$2" --version`, "sh", c.dir, filepath.Join(c.bins.Dir, "postgres"))
	cmd.Dir, cmd.Env, cmd.SysProcAttr = "/", c.env(), c.attr(false)
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	if p := c.closedParent(); p != "" {
		return fmt.Errorf("user %s, as which PostgreSQL runs when root starts it, can't enter %s: give it the right (chmod o+x %s) or choose another data folder", c.runAs.name, p, p)
	}
	return fmt.Errorf("user %s, as which PostgreSQL runs when root starts it, can't use %s: %w: %s", c.runAs.name, c.dir, err, strings.TrimSpace(string(out)))
}

// closedParent returns the topmost folder above dir that the server's user can't enter, "" if there
// is none.
func (c *cluster) closedParent() string {
	var found string
	for p := filepath.Dir(c.dir); ; p = filepath.Dir(p) {
		if info, err := os.Stat(p); err == nil && info.Mode()&0o001 == 0 {
			if st, ok := info.Sys().(*syscall.Stat_t); !ok || st.Uid != c.runAs.uid && st.Gid != c.runAs.gid {
				found = p
			}
		}
		if p == filepath.Dir(p) {
			return found
		}
	}
}

// readPassword returns the superuser's password, which it creates at the first start.
func (c *cluster) readPassword() (string, error) {
	path := filepath.Join(c.dir, "password")
	b, err := os.ReadFile(path)
	if err == nil && len(strings.TrimSpace(string(b))) > 0 {
		return strings.TrimSpace(string(b)), nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	if _, err := os.Stat(c.data); err == nil {
		return "", fmt.Errorf("%s holds a cluster but its password file is gone", c.dir)
	}
	password := rand.Text()
	if err := os.WriteFile(path, []byte(password+"\n"), 0o600); err != nil {
		return "", err
	}
	return password, c.chown(path)
}

// initialize creates the cluster. It renames the folder when initdb has succeeded, so that an
// initdb that was killed leaves only data.new, which the next start replaces.
func (c *cluster) initialize(ctx context.Context) error {
	if _, err := os.Stat(c.data); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	fresh := c.data + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(c.bins.Dir, "initdb"), "-D", fresh, "-U", User, "-E", "UTF8", "--no-locale",
		"--auth=scram-sha-256", "--pwfile", filepath.Join(c.dir, "password"), "--data-checksums")
	cmd.Dir, cmd.Env, cmd.SysProcAttr = c.dir, c.env(), c.attr(false)
	cmd.WaitDelay = 5 * time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, strings.Join(strings.Fields(string(out)), " "))
	}
	return os.Rename(fresh, c.data)
}
