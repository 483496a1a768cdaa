package gateway

import (
	"reflect"
	"testing"
)

// Every limit reaches a stage: a value that can be told from all others is found
// in what the stages are given.
func TestEveryLimitIsPassedDown(t *testing.T) {
	var l Limits
	v := reflect.ValueOf(&l).Elem()
	for i := range v.NumField() {
		v.Field(i).SetInt(int64(1000 + i))
	}
	found := map[int64]bool{
		// These are given one by one where they are used.
		int64(l.KeepAlive): true, int64(l.StartParallel): true, int64(l.SessionSubscriptions): true, int64(l.Rounds): true,
	}
	for _, options := range []any{l.session(), l.transport(), l.opener(), l.upstream(), l.catalog(), l.hold()} {
		collect(reflect.ValueOf(options), found)
	}
	for i := range v.NumField() {
		if !found[int64(1000+i)] {
			t.Errorf("%s reaches nobody", v.Type().Field(i).Name)
		}
	}
}

func collect(v reflect.Value, found map[int64]bool) {
	switch {
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			collect(v.Field(i), found)
		}
	case v.CanInt():
		found[v.Int()] = true
	}
}

// Half a pair of limits does not leave the other half unbounded or closed.
func TestLimitsInPairsAreCompleted(t *testing.T) {
	l := Limits{Resume: 5, StreamQueueEvents: 7}
	if kept := l.session().Kept; kept.Events != 256 || kept.Bytes != 5 {
		t.Errorf("%+v", kept)
	}
	if queue := l.transport().Queue; queue.Events != 7 || queue.Bytes != 8<<20 {
		t.Errorf("%+v", queue)
	}
}
