package httpd

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"go.temper.dev/temper/internal/audit"
)

const (
	// logInsAfter is how long refused log-ins are only counted in this process.
	logInsAfter = time.Second
	// maxLogIns bounds the rows that are counted at a time. The log-ins of further addresses count for otherSources.
	maxLogIns    = 1000
	otherSources = "others"
)

// logIns counts refused log-ins by source address and minute. A second after the first one it writes all, in one statement, so that
// whoever guesses passwords costs the database next to nothing.
type logIns struct {
	store AuditStore
	now   func() time.Time
	log   *zap.Logger

	mu     sync.Mutex
	counts map[sourceMinute]*audit.LogIns
	timer  *time.Timer // nil = none runs
}

type sourceMinute struct {
	source string
	minute time.Time
}

func newLogIns(c Config) *logIns {
	return &logIns{store: c.Audit, now: c.Now, log: c.Log, counts: map[sourceMinute]*audit.LogIns{}}
}

func (l *logIns) add(source string, status int, route string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count(audit.LogIns{From: source, Minute: l.now().UTC().Truncate(time.Minute), Status: status, Route: strings.TrimSpace(route), Count: 1})
	l.start()
}

func (l *logIns) count(one audit.LogIns) {
	key := sourceMinute{one.From, one.Minute}
	if l.counts[key] == nil && len(l.counts) >= maxLogIns {
		key.source, one.From = otherSources, otherSources
	}
	if had := l.counts[key]; had != nil {
		one.Count += had.Count
	}
	l.counts[key] = &one
}

func (l *logIns) start() {
	if l.timer == nil {
		l.timer = time.AfterFunc(logInsAfter, l.write)
	}
}

// write writes what was counted. What can't be written is counted again.
func (l *logIns) write() {
	l.mu.Lock()
	var all []audit.LogIns
	for _, one := range l.counts {
		all = append(all, *one)
	}
	clear(l.counts)
	l.timer = nil
	l.mu.Unlock()
	if len(all) == 0 {
		return
	}
	slices.SortFunc(all, func(a, b audit.LogIns) int { return strings.Compare(a.From, b.From) })
	ctx, cancel := context.WithTimeout(context.Background(), auditTime)
	defer cancel()
	if err := l.store.FoldLogIns(ctx, all); err != nil {
		l.log.Warn("refused log-ins could not be written to the audit; they are kept for the next try", zap.Error(err))
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, one := range all {
			l.count(one)
		}
		l.start()
	}
}
