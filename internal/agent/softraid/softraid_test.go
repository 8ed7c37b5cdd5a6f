//go:build linux

package softraid_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/diskfs/go-diskfs/partition/gpt"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/agent/softraid"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/rootdevice"
)

// machine is a folder with files in the place of disks, and a kernel that shows in sys what they have. Its mdadm writes the superblocks'
// magic, and shows arrays; the real one needs a kernel with md, as the machine of test/system has.
type machine struct {
	t     *testing.T
	root  string
	disks []rootdevice.Disk
	ran   []string          // commands of mdadm, without their options
	fails string            // such a command fails
	seen  map[string]string // the partitions of each disk that the kernel shows
}

func newMachine(t *testing.T, disks ...string) *machine {
	m := &machine{t: t, root: t.TempDir(), seen: map[string]string{}}
	for _, name := range disks {
		m.disks = append(m.disks, rootdevice.Disk{Name: "/dev/" + name, Size: 8 << 30, Facts: map[string]string{"serial": "S-" + name}})
		m.write("dev/"+name, "")
		require.NoError(t, os.Truncate(filepath.Join(m.root, "dev", name), 8<<30))
	}
	return m
}

func (m *machine) write(path, content string) {
	path = filepath.Join(m.root, path)
	require.NoError(m.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(m.t, os.WriteFile(path, []byte(content), 0o600))
}

// look has the kernel read the partitions of the disks.
func (m *machine) look() {
	for _, d := range m.disks {
		name := filepath.Base(d.Name)
		f, err := os.Open(filepath.Join(m.root, d.Name))
		require.NoError(m.t, err)
		table, err := gpt.Read(f, 512, 512)
		require.NoError(m.t, f.Close())
		if err != nil {
			table = &gpt.Table{}
		}
		var now string
		for _, p := range table.Partitions {
			now += fmt.Sprintln(p.Name, p.Start, p.End, p.GUID)
		}
		if now == m.seen[name] {
			continue
		}
		m.seen[name] = now
		require.NoError(m.t, os.RemoveAll(filepath.Join(m.root, "sys/block", name)))
		for _, p := range table.Partitions {
			if p.Type == gpt.Unused {
				continue
			}
			dir := fmt.Sprintf("sys/block/%s/%s%d/", name, name, p.Index)
			m.write(dir+"partition", fmt.Sprint(p.Index))
			m.write(dir+"start", fmt.Sprint(p.Start))
			m.write(dir+"size", fmt.Sprint(p.End-p.Start+1))
			m.write(dir+"uevent", "DEVTYPE=partition\nPARTNAME="+p.Name+"\n")
		}
	}
}

// watching runs f with a kernel that reads the partitions whenever they change.
func (m *machine) watching(f func()) {
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	for {
		select {
		case <-done:
			return
		default:
			m.look()
		}
	}
}

func (m *machine) host() softraid.Host { return softraid.Host{Root: m.root, Mdadm: m.mdadm} }

func (m *machine) mdadm(_ context.Context, args ...string) error {
	words := slices.DeleteFunc(slices.Clone(args), func(s string) bool { return strings.HasPrefix(s, "--") && strings.Contains(s, "=") || s == "--run" })
	command := strings.Join(words, " ")
	m.ran = append(m.ran, command)
	if m.fails != "" && strings.HasPrefix(command, m.fails) {
		return errors.New("mdadm fails")
	}
	md := filepath.Base(words[1])
	switch words[0] {
	case "--stop":
		return os.RemoveAll(filepath.Join(m.root, "sys/block", md))
	case "--create":
		for _, a := range args {
			if level, found := strings.CutPrefix(a, "--level="); found {
				m.write("dev/level-"+md, "raid"+level)
			}
		}
		m.write("dev/"+md, strings.Repeat("x", 16<<10))
		require.NoError(m.t, os.Truncate(filepath.Join(m.root, "dev", md), 64<<20))
	}
	level, err := os.ReadFile(filepath.Join(m.root, "dev/level-"+md))
	require.NoError(m.t, err)
	m.write("sys/block/"+md+"/md/level", string(level))
	m.write("sys/block/"+md+"/size", fmt.Sprint(64<<20/512))
	for _, part := range words[2:] {
		if part == "--add" {
			continue
		}
		name := filepath.Base(part)
		m.write("sys/block/"+md+"/slaves/"+name, "")
		m.superblock(name)
	}
	return nil
}

// superblock writes the magic of a member.
func (m *machine) superblock(part string) {
	disk := strings.TrimRight(part, "0123456789")
	start, err := os.ReadFile(filepath.Join(m.root, "sys/block", disk, part, "start"))
	require.NoError(m.t, err)
	var sector int64
	_, err = fmt.Sscan(string(start), &sector)
	require.NoError(m.t, err)
	f, err := os.OpenFile(filepath.Join(m.root, "dev", disk), os.O_WRONLY, 0)
	require.NoError(m.t, err)
	_, err = f.WriteAt(binary.LittleEndian.AppendUint32(nil, 0xa92b4efc), sector*512+4096)
	require.NoError(m.t, errors.Join(err, f.Close()))
}

func (m *machine) make(disks ...map[string]any) (arrays []softraid.Array, err error) {
	list := make([]any, len(disks))
	for i, d := range disks {
		d["controller"] = node.Software
		list[i] = d
	}
	m.watching(func() { arrays, err = m.host().Make(m.t.Context(), map[string]any{"logical_disks": list}, m.disks) })
	return arrays, err
}

func TestArraysAreMadeOnceAndDeleted(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "sda", "sdb", "sdc")
	config := []map[string]any{{"raid_level": "1", "size_gb": 2}, {"raid_level": "5", "size_gb": "MAX"}}
	m.fails = "--create /dev/md1"
	_, err := m.make(config...)
	require.ErrorContains(t, err, "mdadm fails")
	m.fails, m.ran = "", nil
	arrays, err := m.make(config...)
	require.NoError(t, err)
	require.Equal(t, []string{"--create /dev/md1 /dev/sda3 /dev/sdb3 /dev/sdc3"}, m.ran, "it went on behind the array that was there")
	require.Len(t, arrays, 2)
	require.Equal(t, []map[string]any{
		{"id": "/dev/md0", "controller": "software", "raid_level": "1", "size_gb": int64(0), "physical_disks": []string{"/dev/sda", "/dev/sdb", "/dev/sdc"}},
		{"id": "/dev/md1", "controller": "software", "raid_level": "5", "size_gb": int64(0), "physical_disks": []string{"/dev/sda", "/dev/sdb", "/dev/sdc"}},
	}, softraid.Described(arrays))
	b, err := os.ReadFile(filepath.Join(m.root, "dev/md0"))
	require.NoError(t, err)
	require.Zero(t, b[0], "what was on the disks before is gone")
	m.ran = nil
	_, err = m.make(config...)
	require.NoError(t, err)
	require.Empty(t, m.ran, "a second run finds all")
	_, err = m.make(map[string]any{"raid_level": "1", "size_gb": 3})
	require.ErrorContains(t, err, "it has other partitions")

	m.watching(func() { err = m.host().Delete(t.Context()) })
	require.NoError(t, err)
	require.Equal(t, []string{"--stop /dev/md0", "--stop /dev/md1"}, m.ran)
	arrays, err = m.host().Arrays(t.Context())
	require.NoError(t, err)
	require.Empty(t, arrays)
}

func TestAnArrayThatLacksADiskIsStarted(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "sda", "sdb")
	_, err := m.make(map[string]any{"raid_level": "1", "size_gb": "MAX"})
	require.NoError(t, err)
	require.NoError(t, m.host().Stop(t.Context()))
	require.NoError(t, os.Truncate(filepath.Join(m.root, "dev/sda"), 0))
	require.NoError(t, os.Truncate(filepath.Join(m.root, "dev/sda"), 8<<30)) // a new disk is in its place
	m.look()
	m.ran = nil
	arrays, err := m.host().Arrays(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"--assemble /dev/md0 /dev/sdb2"}, m.ran)
	require.Equal(t, "/dev/sdb1", m.host().ESPs(arrays[0])[0].Name)
	m.ran = nil
	_, err = m.make(map[string]any{"raid_level": "1", "size_gb": "MAX"})
	require.NoError(t, err)
	require.Equal(t, []string{"--manage /dev/md0 --add /dev/sda2"}, m.ran, "the new disk becomes a member")
}

func TestHintsNameTheDisks(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "sda", "sdb", "sdc")
	hints := func(serials ...string) (all []any) {
		for _, s := range serials {
			all = append(all, map[string]any{"serial": s})
		}
		return all
	}
	_, err := m.make(map[string]any{"raid_level": "1", "size_gb": 9, "physical_disks": hints("S-sda", "S-sdc")})
	require.ErrorContains(t, err, "size_gb: there is not enough space")
	_, err = m.make(map[string]any{"raid_level": "1", "size_gb": 1, "physical_disks": hints("S-sda", "S-sda")})
	require.ErrorContains(t, err, "physical_disks: no disk fits")
	_, err = m.make(map[string]any{"raid_level": "1", "size_gb": 1}, map[string]any{"raid_level": "6", "size_gb": 1})
	require.ErrorContains(t, err, "logical_disks/1: RAID 6 needs 4 disks or more, and there are 3")
	require.Empty(t, m.ran)
	_, err = m.make(map[string]any{"raid_level": "1", "size_gb": 1, "physical_disks": hints("S-sdc", "S-sda"), "volume_name": "os"})
	require.NoError(t, err)
	require.Equal(t, []string{"--create /dev/md0 /dev/sda2 /dev/sdc2"}, m.ran)
}
