package events

import (
	"slices"
	"sort"
)

// The bounds of a tail.
const (
	tailEvents = 4096
	tailBytes  = 4 << 20
)

// tail has the newest settled events: all above from.
type tail struct {
	from  int64
	items []item
	bytes int
}

// item is an event without its Data, and as it is sent.
type item struct {
	event Event
	block []byte
}

// add adds events that are newer than those in it, and forgets the oldest if it has too many.
func (t *tail) add(list []Event) error {
	for _, e := range list {
		block, err := e.block()
		if err != nil {
			return err
		}
		e.Data = nil
		t.items = append(t.items, item{e, block})
		t.bytes += len(block)
	}
	if len(t.items) <= tailEvents && t.bytes <= tailBytes {
		return nil
	}
	drop := 0 // down to the half, so that this is not done for each event
	for ; drop < len(t.items) && (len(t.items)-drop > tailEvents/2 || t.bytes > tailBytes/2); drop++ {
		t.bytes -= len(t.items[drop].block)
	}
	t.from = t.items[drop-1].event.Seq
	t.items = slices.Clone(t.items[drop:])
	return nil
}

// after returns the blocks of the events above seq that the filter wants, about most bytes of them, and the number up to which
// it has looked; through is that of the newest event that there is. seq must not be below from.
func (t *tail) after(seq, through int64, f *Filter, most int) (blocks []byte, upTo int64) {
	i := sort.Search(len(t.items), func(i int) bool { return t.items[i].event.Seq > seq })
	for ; i < len(t.items); i++ {
		if len(blocks) >= most {
			return blocks, t.items[i-1].event.Seq
		}
		if f.Wants(&t.items[i].event) {
			blocks = append(blocks, t.items[i].block...)
		}
	}
	return blocks, through
}
